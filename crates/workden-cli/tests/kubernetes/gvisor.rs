//! Pods in gVisor, by the RuntimeClass of the overlay.

use crate::{
    checks::files_conform,
    places::{BUSYBOX, apply, pod},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_pod_in_gvisor_conform() {
    let class = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/kubernetes/overlays/gvisor/runtime-class.yaml");
    apply(&std::fs::read_to_string(class).unwrap());
    files_conform(pod(BUSYBOX).runtime_class("gvisor").build().unwrap()).await;
}
