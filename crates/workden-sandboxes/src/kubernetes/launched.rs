//! The mark of a shared pod whose keeper was launched: other processes connect to it, and stream no keeper of their own.
//!
//! Invariant: the mark is set after the launch, so a pod without it can be launched by any process at any time.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use workden_core::Result;

use super::{
    cluster::{Cluster, patiently},
    errors, labels,
};

/// Whether the keeper of a pod was launched.
pub(super) fn is_marked(pod: &Pod) -> bool {
    pod.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(labels::LAUNCHED))
}

/// Marks a pod, unless it is another one of the same name by now.
pub(super) async fn mark(cluster: &Cluster, name: &str, uid: &str) -> Result<()> {
    let pods = cluster.pods().await?;
    let patch = Patch::Merge(json!({"metadata": {"uid": uid, "annotations": {labels::LAUNCHED: "true"}}}));
    let params = PatchParams::default();
    match patiently(|| pods.patch_metadata(name, &params, &patch)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(errors::failed(&format!("mark the pod `{name}` as launched"), &error)),
    }
}
