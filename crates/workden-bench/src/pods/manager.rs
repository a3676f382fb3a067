//! The managers that are measured: their pods are small, so that spare ones fit on one node.

use serde_json::json;
use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{
    ContainerKeepers,
    kubernetes::{Cluster, KubernetesLauncher, KubernetesSandbox},
};
use workden_sessions::{ClusterStore, SessionManager, SessionManagerBuilder};

use super::prepared;
use crate::Failure;

/// Returns the builder of a manager of this owner's sessions.
pub(super) fn builder(namespace: &str, owner: &str) -> Result<SessionManagerBuilder, Failure> {
    let resources = json!({"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "1", "memory": "256Mi"}});
    let small = json!({"spec": {"containers": [{"name": "workden", "resources": resources}]}});
    let template = KubernetesSandbox::builder()
        .cluster(Cluster::kubeconfig(prepared("WORKDEN_TEST_KUBECONFIG")?).namespace(namespace))
        .keepers(ContainerKeepers::at(prepared("WORKDEN_KEEPER")?))
        .image("workden-test/busybox:1")
        .pod_template(serde_json::from_value(small)?);
    let launcher = KubernetesLauncher::new(template, owner)?;
    Ok(SessionManager::builder(launcher.clone()).store(ClusterStore::new(launcher)))
}

/// Runs a command in a sandbox.
pub(super) async fn used(sandbox: &dyn Sandbox) -> Result<(), Failure> {
    let done = sandbox.execute(&ExecuteRequest::shell("echo hi")).await?;
    match done.output.text().as_str() {
        "hi\n" => Ok(()),
        _ => Err(format!("`echo hi` returned {done:?}").into()),
    }
}
