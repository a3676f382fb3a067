//! The objects of agent-sandbox, as far as workden reads and writes them.

use kube::{
    Api,
    api::{ApiResource, DynamicObject},
    core::{GroupVersionKind, Object},
};
use serde::{Deserialize, Serialize};
use workden_core::Result;

use crate::kubernetes::cluster::Cluster;

/// The version of both API groups.
const VERSION: &str = "v1beta1";
/// The group of claims, pools and templates.
pub(super) const EXTENSIONS: &str = "extensions.agents.x-k8s.io";

/// A claim of a sandbox.
pub(in super::super) type SandboxClaim = Object<ClaimSpec, ClaimStatus>;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ClaimSpec {
    pub(super) warm_pool_ref: WarmPoolRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lifecycle: Option<ClaimLifecycle>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in super::super) struct WarmPoolRef {
    pub(super) name: String,
}

/// When the controller deletes a claim.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ClaimLifecycle {
    pub(super) shutdown_policy: String,
    /// Seconds since the pod of the claim has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ttl_seconds_after_finished: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(in super::super) struct ClaimStatus {
    #[serde(default)]
    pub(super) conditions: Vec<Condition>,
    #[serde(default)]
    pub(super) sandbox: BoundSandbox,
}

/// The sandbox of a claim. Its pod has the same name.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(in super::super) struct BoundSandbox {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in super::super) struct Condition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) reason: String,
    #[serde(default)]
    pub(super) message: String,
}

/// Returns the type of claims.
pub(super) fn claim_type() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(EXTENSIONS, VERSION, "SandboxClaim"), "sandboxclaims")
}

pub(super) async fn claims(cluster: &Cluster) -> Result<Api<SandboxClaim>> {
    Ok(Api::default_namespaced_with(cluster.client().await?.clone(), &claim_type()))
}

/// Returns the sandboxes of claims, of which only the operating mode is changed.
pub(super) async fn sandboxes(cluster: &Cluster) -> Result<Api<DynamicObject>> {
    let kind = GroupVersionKind::gvk("agents.x-k8s.io", VERSION, "Sandbox");
    let sandbox_type = ApiResource::from_gvk_with_plural(&kind, "sandboxes");
    Ok(Api::default_namespaced_with(cluster.client().await?.clone(), &sandbox_type))
}
