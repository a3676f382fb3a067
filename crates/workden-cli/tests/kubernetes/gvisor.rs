//! Pods in gVisor, by the RuntimeClass of the overlay.

use workden_conformance::{SandboxCheck, sandbox_checks};
use workden_core::Sandbox;
use workden_sandboxes::kubernetes::KubernetesSandboxBuilder;

use crate::{
    checks::files_conform,
    places::{BUSYBOX, apply, pod},
    reused_sandboxes::hold_reusing,
};

/// What commands cannot do in Debian's gVisor: it has no child subreapers, and its `/proc/PID/status` has no signal
/// masks.
const LACKING: [&str; 2] =
    ["inheritance::no_signal_is_blocked_or_ignored", "orphans::a_dropped_process_leaves_no_process"];

/// Proves that each of these checks fails.
async fn refuse<S: Sandbox>(checks: impl Iterator<Item = &'static SandboxCheck>, make: impl AsyncFn() -> S) {
    let mut tried = 0;
    for check in checks {
        let sandbox = make().await;
        assert!(check.run(&sandbox).await.is_err(), "{check} holds, and is named as one that does not");
        sandbox.stop().await.unwrap();
        tried += 1;
    }
    assert!(tried > 0, "no check has such a name");
}

/// Returns the builder of a pod in gVisor.
fn in_gvisor() -> KubernetesSandboxBuilder {
    let class = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes/overlays/gvisor/runtime-class.yaml");
    apply(&std::fs::read_to_string(class).unwrap());
    pod(BUSYBOX).runtime_class("gvisor")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_pod_in_gvisor_conform_but_for_what_it_lacks() {
    let is_lacking = |name: String| LACKING.contains(&name.as_str());
    let checks = sandbox_checks().filter(|check| !is_lacking(check.to_string()));
    hold_reusing(checks, async || in_gvisor().build().unwrap()).await;
    refuse(sandbox_checks().filter(|check| is_lacking(check.to_string())), async || in_gvisor().build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_pod_in_gvisor_conform() {
    files_conform(in_gvisor().build().unwrap()).await;
}
