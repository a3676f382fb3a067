//! A sandbox in a pod, started by the first call.

use std::{collections::BTreeMap, sync::Arc};

use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use workden::{
    HostEnvironment, Result, Workspace,
    sandboxes::kubernetes::{
        HttpMode, KubernetesSandbox, KubernetesSandboxBuilder, Pod, Reach, Toleration, WhenStopped, WorkspaceVolume,
    },
};
use workden_core::sandbox::Network;
use workden_policy::PathScope;

use super::{
    NativeWorkspace, WorkspaceParts,
    clusters::{self, Clusters},
    host_paths::{self, Size},
};
use crate::{asking, failure, rules};

/// The container in which commands run.
const CONTAINER: &str = "workden";

/// Configuration of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PodConfig {
    cluster: Clusters,
    image: String,
    work_dir: Option<String>,
    pod_name: Option<String>,
    /// For a pod that serves the HTTP protocol itself.
    http: Option<HttpConfig>,
    reach: Option<ReachOption>,
    template: Option<Value>,
    keeper_image: Option<String>,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    service_account: Option<String>,
    node_selector: BTreeMap<String, String>,
    tolerations: Vec<Value>,
    runtime_class: Option<String>,
    pull_secrets: Vec<String>,
    claim: Option<String>,
    workspace_size: Option<Size>,
    memory: Option<Size>,
    cpus: Option<f64>,
    network: NetworkOption,
    keep: bool,
    /// In seconds.
    start_timeout: Option<f64>,
    scheduling_timeout: Option<f64>,
    lease: Option<f64>,
    rules: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpConfig {
    port: u16,
    #[serde(default)]
    token: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReachOption {
    Direct,
    PortForward,
    Exec,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NetworkOption {
    #[default]
    None,
    Cluster,
}

#[pymethods]
impl NativeWorkspace {
    /// Creates a pod. `config` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (config, asks=None))]
    fn kubernetes(config: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let config: PodConfig =
            serde_json::from_str(config).map_err(|error| failure::raised(failure::invalid("a pod", error)))?;
        let (config, approvals) = (Arc::new(config), asking::approvals(asks));
        Self::made_by(move || {
            let sandbox = sandbox(&config)?;
            let builder = Workspace::builder().kubernetes(|_| sandbox).approvals(approvals.clone());
            WorkspaceParts::with_sandbox(rules::hold(builder, config.rules.as_ref(), PathScope::Machine)?)
        })
    }
}

fn sandbox(config: &PodConfig) -> Result<KubernetesSandboxBuilder> {
    let (cluster, keepers) = clusters::of_this_process(&config.cluster)?;
    let mut plan = KubernetesSandbox::builder()
        .cluster(cluster)
        .keepers(keepers)
        .environment_of(HostEnvironment::from_process())
        .image(&config.image)
        .when_stopped(if config.keep { WhenStopped::Keep } else { WhenStopped::Delete });
    if let Some(work_dir) = &config.work_dir {
        plan = plan.work_dir(work_dir);
    }
    if let Some(name) = &config.pod_name {
        plan = plan.pod_name(name);
    }
    if let Some(HttpConfig { port, token }) = &config.http {
        let mode = HttpMode::new().port(*port);
        plan = plan.http_mode(token.iter().fold(mode, |mode, token| mode.token(token)));
    }
    if let Some(image) = &config.keeper_image {
        plan = plan.keeper_image(image);
    }
    plan = match config.reach {
        None => plan,
        Some(ReachOption::Direct) => plan.reach(Reach::Direct),
        Some(ReachOption::PortForward) => plan.reach(Reach::PortForward),
        Some(ReachOption::Exec) => plan.reach(Reach::Exec),
    };
    plan = config.labels.iter().fold(plan, |plan, (name, value)| plan.label(name, value));
    plan = config.annotations.iter().fold(plan, |plan, (name, value)| plan.annotation(name, value));
    plan = config.variables.iter().fold(plan, |plan, (name, value)| plan.env(name, value));
    plan = limited(placed(plan, config)?, config);
    timed(plan, config)
}

/// Where the pod runs, and who it is.
fn placed(mut plan: KubernetesSandboxBuilder, config: &PodConfig) -> Result<KubernetesSandboxBuilder> {
    if let Some(template) = &config.template {
        plan = plan.pod_template(pod(template.clone())?);
    }
    if let Some(name) = &config.service_account {
        plan = plan.service_account(name);
    }
    plan = config.node_selector.iter().fold(plan, |plan, (name, value)| plan.node_selector(name, value));
    for toleration in &config.tolerations {
        let toleration: Toleration =
            serde_json::from_value(toleration.clone()).map_err(|error| failure::invalid("a toleration", error))?;
        plan = plan.toleration(toleration);
    }
    if let Some(name) = &config.runtime_class {
        plan = plan.runtime_class(name);
    }
    Ok(config.pull_secrets.iter().fold(plan, KubernetesSandboxBuilder::image_pull_secret))
}

/// Files, limits and network.
fn limited(mut plan: KubernetesSandboxBuilder, config: &PodConfig) -> KubernetesSandboxBuilder {
    plan = match (&config.claim, config.workspace_size) {
        (Some(claim), _) => plan.workspace(WorkspaceVolume::Claim(claim.clone())),
        (None, Some(Size(bytes))) => plan.workspace(WorkspaceVolume::EmptyDir(bytes)),
        (None, None) => plan,
    };
    plan.with(|options| {
        options.memory = config.memory.map(|Size(bytes)| bytes);
        options.cpus = config.cpus;
        options.network = match config.network {
            NetworkOption::None => None,
            NetworkOption::Cluster => Some(Network::Host),
        };
    })
}

fn timed(mut plan: KubernetesSandboxBuilder, config: &PodConfig) -> Result<KubernetesSandboxBuilder> {
    if let Some(time) = config.start_timeout {
        plan = plan.start_timeout(host_paths::seconds("startup_timeout", time)?);
    }
    if let Some(time) = config.scheduling_timeout {
        plan = plan.scheduling_timeout(host_paths::seconds("scheduling_timeout", time)?);
    }
    match config.lease {
        Some(time) => Ok(plan.lease(host_paths::seconds("lease", time)?)),
        None => Ok(plan),
    }
}

/// Returns a template as a pod. Its first container is the one in which commands run, unless another has that name.
fn pod(mut template: Value) -> Result<Pod> {
    if let Some(containers) = template.pointer_mut("/spec/containers").and_then(Value::as_array_mut)
        && !containers.iter().any(|container| container["name"] == CONTAINER)
        && let Some(first) = containers.first_mut().and_then(Value::as_object_mut)
    {
        first.insert("name".to_owned(), CONTAINER.into());
    }
    serde_json::from_value(template).map_err(|error| failure::invalid("a pod template", error))
}
