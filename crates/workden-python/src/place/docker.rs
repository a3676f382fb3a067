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
    Den, Place,
    daemons::{self, Daemons},
    news,
    shown::{self, RunOutside, Shown, Size},
};
use crate::{asking, failure, rules};

/// Configuration of a container.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    daemon: Daemons,
    #[serde(default)]
    image: String,
    #[serde(default)]
    runtime: Option<RuntimeConfig>,
    work_dir: String,
    #[serde(default)]
    volumes: Vec<Shown>,
    #[serde(default)]
    named_volumes: Vec<Shown>,
    #[serde(default)]
    read_only: Vec<String>,
    #[serde(default)]
    masked: Vec<String>,
    #[serde(default)]
    git_files: RunOutside,
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
    privileges: Option<WantedPrivileges>,
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
enum WantedPrivileges {
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
impl Place {
    /// Creates a container. `wanted` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (wanted, asks=None))]
    fn docker(wanted: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let wanted: Wanted =
            serde_json::from_str(wanted).map_err(|error| failure::raised(failure::invalid("a container", error)))?;
        let (wanted, approvals) = (Arc::new(wanted), asking::approvals(asks));
        Self::made_by(move || {
            let sandbox = sandbox(&wanted)?;
            let builder = Workspace::builder().docker(|_| sandbox).approvals(approvals.clone());
            Den::with_sandbox(rules::hold(builder, wanted.rules.as_ref(), PathScope::Machine)?)
        })
    }
}

fn sandbox(wanted: &Wanted) -> Result<DockerSandboxBuilder> {
    let (daemon, keepers) = daemons::of_this_process(&wanted.daemon)?;
    let mut plan = news::told(DockerSandbox::builder().daemon(daemon))
        .keepers(keepers)
        .environment_of(HostEnvironment::from_process())
        .work_dir(&wanted.work_dir)
        .git_files(wanted.git_files.git_files());
    plan = match &wanted.runtime {
        Some(runtime) => plan.runtime(runtime.clone()),
        None => plan.image(&wanted.image),
    };
    for Shown { source, at, access } in &wanted.volumes {
        plan = plan.mount(at, source, *access);
    }
    for Shown { source, at, access } in &wanted.named_volumes {
        plan = plan.named_volume(at, source.to_string_lossy(), *access);
    }
    plan = wanted.read_only.iter().fold(plan, DockerSandboxBuilder::read_only);
    plan = wanted.masked.iter().fold(plan, DockerSandboxBuilder::masked);
    if let Some(network) = &wanted.network {
        plan = plan.network_name(network);
    }
    if let Some(network) = &wanted.build_network {
        plan = plan.build_network(network);
    }
    if let Some(name) = &wanted.container_name {
        plan = plan.container_name(name);
    }
    if let Some(keep) = wanted.keep {
        plan = plan.when_it_ends(if keep { WhenItEnds::Keep } else { WhenItEnds::Remove });
    }
    plan = wanted.labels.iter().fold(plan, |plan, (name, value)| plan.label(name, value));
    plan = wanted.variables.iter().fold(plan, |plan, (name, value)| plan.env(name, value));
    plan = confined(plan, wanted);
    match wanted.lease {
        Some(time) => Ok(plan.lease(shown::seconds("lease", time)?)),
        None => Ok(plan),
    }
}

/// Limits and user.
fn confined(mut plan: DockerSandboxBuilder, wanted: &Wanted) -> DockerSandboxBuilder {
    plan = plan.with(|options| {
        options.memory = wanted.memory.map(|Size(bytes)| bytes);
        options.cpus = wanted.cpus;
        options.pids = wanted.processes;
    });
    if let Some(Size(bytes)) = wanted.swap {
        plan = plan.swap(bytes);
    }
    plan = wanted.tmpfs.iter().fold(plan, |plan, (at, Size(bytes))| plan.tmpfs(at, *bytes));
    plan = match wanted.privileges {
        None => plan,
        Some(WantedPrivileges::Few) => plan.privileges(Privileges::Few),
        Some(WantedPrivileges::None) => plan.privileges(Privileges::None),
        Some(WantedPrivileges::OfDaemon) => plan.privileges(Privileges::OfDaemon),
    };
    plan = match wanted.user.clone() {
        None => plan,
        Some(User::OfImage) => plan.user(ContainerUser::OfImage),
        Some(User::Ids(user, group)) => plan.user(ContainerUser::Ids { user, group }),
        Some(User::Named(name)) => plan.user(ContainerUser::Named(name)),
    };
    if wanted.read_only_root {
        plan = plan.root_access(RootAccess::ReadOnly);
    }
    if wanted.daemons_init {
        plan = plan.init(Init::OfDaemon);
    }
    match &wanted.oci_runtime {
        Some(name) => plan.oci_runtime(name),
        None => plan,
    }
}
