//! Runs the conformance suite over kinds of sandboxes whose start is slow.

use futures_util::future::join_all;
use workden_conformance::SandboxCheck;
use workden_core::Sandbox;

use crate::checks::{LANES, hold};

/// Runs checks several at a time and starts few sandboxes, for kinds whose start is slow. Only the checks that stop
/// their sandbox, or list the jobs of a new one, get one each.
pub(crate) async fn hold_reusing<S: Sandbox>(
    checks: impl Iterator<Item = &'static SandboxCheck>,
    make: impl AsyncFn() -> S,
) {
    let alone = |check: &&SandboxCheck| matches!(check.theme, "jobs" | "stopping");
    let (alone, others): (Vec<&SandboxCheck>, Vec<&SandboxCheck>) = checks.partition(alone);
    let lane = async |first: usize| {
        let sandbox = make().await;
        let mut failed = Vec::new();
        for check in others.iter().skip(first).step_by(LANES) {
            if let Err(failure) = check.run(&sandbox).await {
                failed.push(format!("{check}: {failure}"));
            }
        }
        sandbox.stop().await.unwrap();
        failed
    };
    let failed = join_all((0..LANES).map(lane)).await.concat();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    hold(alone.into_iter(), make).await;
}
