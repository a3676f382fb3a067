//! A sandbox in a container, started by the first call.

use std::{collections::BTreeMap, sync::Arc};

use pyo3::prelude::*;
use serde::Deserialize;
use workden::{
    HostEnvironment, Result, Workspace,
    sandboxes::{
        docker::{ContainerUser, DockerSandbox, DockerSandboxBuilder, Init, Privileges, RootAccess, WhenItEnds},
        runtimes::RuntimeConfig,
    },
};
use workden_policy::PathScope;

use super::{
    NativeWorkspace, WorkspaceParts,
    daemons::{self, Daemons},
    host_paths::{self, GitFilesOption, HostPath, Size},
    image_progress,
};
use crate::{asking, failure, rules};

/// Configuration of a container.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DockerConfig {
    daemon: Daemons,
    #[serde(default)]
    image: String,
    #[serde(default)]
    runtime: Option<RuntimeConfig>,
    work_dir: String,
    #[serde(default)]
    volumes: Vec<HostPath>,
    #[serde(default)]
    named_volumes: Vec<HostPath>,
    #[serde(default)]
    read_only: Vec<String>,
    #[serde(default)]
    masked: Vec<String>,
    #[serde(default)]
    git_files: GitFilesOption,
    #[serde(default)]
    network: Option<String>,
    #[serde(default)]
    build_network: Option<String>,
    #[serde(default)]
    container_name: Option<String>,
    /// Whether an ended container is kept; by default as the builder decides.
    #[serde(default)]
    keep: Option<bool>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    #[serde(default)]
    memory: Option<Size>,
    #[serde(default)]
    swap: Option<Size>,
    #[serde(default)]
    cpus: Option<f64>,
    #[serde(default)]
    processes: Option<u64>,
    #[serde(default)]
    tmpfs: BTreeMap<String, Size>,
    #[serde(default)]
    privileges: Option<PrivilegesOption>,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    read_only_root: bool,
    #[serde(default)]
    daemons_init: bool,
    #[serde(default)]
    oci_runtime: Option<String>,
    /// In seconds.
    #[serde(default)]
    lease: Option<f64>,
    #[serde(default)]
    rules: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PrivilegesOption {
    Few,
    None,
    OfDaemon,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum User {
    OfImage,
    Ids(u32, u32),
    Named(String),
}

#[pymethods]
impl NativeWorkspace {
    /// Creates a container. `config` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (config, asks=None))]
    fn docker(config: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let config: DockerConfig =
            serde_json::from_str(config).map_err(|error| failure::raised(failure::invalid("a container", error)))?;
        let (config, approvals) = (Arc::new(config), asking::approvals(asks));
        Self::made_by(move || {
            let sandbox = sandbox(&config)?;
            let builder = Workspace::builder().docker(|_| sandbox).approvals(approvals.clone());
            WorkspaceParts::with_sandbox(rules::hold(builder, config.rules.as_ref(), PathScope::Machine)?)
        })
    }
}

fn sandbox(config: &DockerConfig) -> Result<DockerSandboxBuilder> {
    let (daemon, keepers) = daemons::of_this_process(&config.daemon)?;
    let mut plan = image_progress::with_progress_log(DockerSandbox::builder().daemon(daemon))
        .keepers(keepers)
        .environment_of(HostEnvironment::from_process())
        .work_dir(&config.work_dir)
        .git_files(config.git_files.git_files());
    plan = match &config.runtime {
        Some(runtime) => plan.runtime(runtime.clone()),
        None => plan.image(&config.image),
    };
    for HostPath { source, at, access } in &config.volumes {
        plan = plan.mount(at, source, *access);
    }
    for HostPath { source, at, access } in &config.named_volumes {
        plan = plan.named_volume(at, source.to_string_lossy(), *access);
    }
    plan = config.read_only.iter().fold(plan, DockerSandboxBuilder::read_only);
    plan = config.masked.iter().fold(plan, DockerSandboxBuilder::masked);
    if let Some(network) = &config.network {
        plan = plan.network_name(network);
    }
    if let Some(network) = &config.build_network {
        plan = plan.build_network(network);
    }
    if let Some(name) = &config.container_name {
        plan = plan.container_name(name);
    }
    if let Some(keep) = config.keep {
        plan = plan.when_it_ends(if keep { WhenItEnds::Keep } else { WhenItEnds::Remove });
    }
    plan = config.labels.iter().fold(plan, |plan, (name, value)| plan.label(name, value));
    plan = config.variables.iter().fold(plan, |plan, (name, value)| plan.env(name, value));
    plan = confined(plan, config);
    match config.lease {
        Some(time) => Ok(plan.lease(host_paths::seconds("lease", time)?)),
        None => Ok(plan),
    }
}

/// Limits and user.
fn confined(mut plan: DockerSandboxBuilder, config: &DockerConfig) -> DockerSandboxBuilder {
    plan = plan.with(|options| {
        options.memory = config.memory.map(|Size(bytes)| bytes);
        options.cpus = config.cpus;
        options.pids = config.processes;
    });
    if let Some(Size(bytes)) = config.swap {
        plan = plan.swap(bytes);
    }
    plan = config.tmpfs.iter().fold(plan, |plan, (at, Size(bytes))| plan.tmpfs(at, *bytes));
    plan = match config.privileges {
        None => plan,
        Some(PrivilegesOption::Few) => plan.privileges(Privileges::Few),
        Some(PrivilegesOption::None) => plan.privileges(Privileges::None),
        Some(PrivilegesOption::OfDaemon) => plan.privileges(Privileges::OfDaemon),
    };
    plan = match config.user.clone() {
        None => plan,
        Some(User::OfImage) => plan.user(ContainerUser::OfImage),
        Some(User::Ids(user, group)) => plan.user(ContainerUser::Ids { user, group }),
        Some(User::Named(name)) => plan.user(ContainerUser::Named(name)),
    };
    if config.read_only_root {
        plan = plan.root_access(RootAccess::ReadOnly);
    }
    if config.daemons_init {
        plan = plan.init(Init::OfDaemon);
    }
    match &config.oci_runtime {
        Some(name) => plan.oci_runtime(name),
        None => plan,
    }
}
