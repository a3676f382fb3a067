//! Pods in gVisor, by the RuntimeClass of the overlay.

use workden_sandboxes::kubernetes::KubernetesSandboxBuilder;

use crate::{
    checks::files_conform,
    gvisor_checks::conform_but_for_the_list,
    places::{BUSYBOX, apply, pod},
};

/// Returns the builder of a pod in gVisor.
fn in_gvisor() -> KubernetesSandboxBuilder {
    let class = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes/overlays/gvisor/runtime-class.yaml");
    apply(&std::fs::read_to_string(class).unwrap());
    pod(BUSYBOX).runtime_class("gvisor")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_pod_in_gvisor_conform_but_for_a_list() {
    conform_but_for_the_list(async || in_gvisor().build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_pod_in_gvisor_conform() {
    files_conform(in_gvisor().build().unwrap()).await;
}
