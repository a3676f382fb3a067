//! The conformance suite, on an image with only busybox and on Debian, over each way to the keeper.

use futures_util::future::join_all;
use workden_conformance::{SandboxCheck, python_checks, sandbox_checks};
use workden_core::Sandbox;
use workden_sandboxes::kubernetes::Reach;

use crate::{
    checks::{LANES, files_conform, hold},
    places::{BUSYBOX, PYTHON, pod},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_busybox_pod_conform_over_exec() {
    hold_reusing(sandbox_checks(), async || pod(BUSYBOX).reach(Reach::Exec).build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_debian_pod_conform_directly() {
    let checks = sandbox_checks().chain(python_checks());
    hold_reusing(checks, async || pod(PYTHON).reach(Reach::Direct).build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_debian_pod_conform_over_a_port_forward() {
    hold_reusing(sandbox_checks(), async || pod(PYTHON).reach(Reach::PortForward).build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_pod_conform_over_each_way() {
    for way in Reach::ALL {
        files_conform(pod(BUSYBOX).reach(way).build().unwrap()).await;
    }
}

/// Runs checks several at a time and starts few pods. Only the checks that stop their sandbox, or list the jobs of a
/// new one, get one each.
async fn hold_reusing<S: Sandbox>(checks: impl Iterator<Item = &'static SandboxCheck>, make: impl AsyncFn() -> S) {
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
