//! The conformance suite, on an image with only busybox and on Debian.

use futures_util::future::join_all;
use workden_conformance::{SandboxCheck, python_checks, sandbox_checks};
use workden_core::Sandbox;

use crate::{
    checks::{LANES, files_conform, hold},
    docker::places::{BUSYBOX, PYTHON, container},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_busybox_container_conform() {
    hold_reusing(sandbox_checks(), async || container(BUSYBOX).build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_debian_container_conform() {
    hold_reusing(sandbox_checks().chain(python_checks()), async || container(PYTHON).build().unwrap()).await;
}

/// One image is enough: the keeper serves files, and uses no program of the image.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_container_conform() {
    files_conform(container(BUSYBOX).build().unwrap()).await;
}

/// Runs checks several at a time and starts few sandboxes, for kinds whose start is slow. Only the checks that stop
/// their sandbox, or list the jobs of a new one, get one each.
pub(super) async fn hold_reusing<S: Sandbox>(
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
