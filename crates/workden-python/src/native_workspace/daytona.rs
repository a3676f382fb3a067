//! A sandbox at Daytona, started by the first call.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use pyo3::prelude::*;
use serde::Deserialize;
use workden::{
    DaytonaSpec, HostEnvironment, Result, Workspace,
    sandboxes::daytona::{self, DaytonaMode, DaytonaSandbox, DaytonaSandboxBuilder, WhenStopped},
};
use workden_core::sandbox::Network;
use workden_policy::PathScope;

use super::{
    NativeWorkspace, WorkspaceParts, daemons,
    host_paths::{self, Size},
};
use crate::{asking, failure, rules};

/// Configuration of a sandbox at Daytona. It has a key, so that it has no `Debug`.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct DaytonaConfig {
    api_key: Option<String>,
    api_url: Option<String>,
    target: Option<String>,
    snapshot: Option<String>,
    image: Option<String>,
    name: Option<String>,
    attach: Option<String>,
    mode: Option<ModeOption>,
    user: Option<String>,
    work_dir: Option<String>,
    labels: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    memory: Option<Size>,
    disk: Option<Size>,
    cpus: Option<f64>,
    gpus: Option<u32>,
    /// Paths in the sandbox by the ids of volumes.
    volumes: BTreeMap<String, String>,
    network: Option<NetworkOption>,
    allowed_networks: Vec<String>,
    /// In minutes, as Daytona counts them.
    auto_stop: Option<u64>,
    auto_archive: Option<u64>,
    auto_delete: Option<u64>,
    keep: bool,
    /// In seconds.
    start_timeout: Option<f64>,
    /// The program `workden`, which is a keeper itself if it is static, and may have others beside it.
    keeper: Option<PathBuf>,
    /// A directory with a keeper for each architecture.
    keepers: Option<PathBuf>,
    rules: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModeOption {
    Keeper,
    Toolbox,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NetworkOption {
    None,
    Internet,
}

/// What is known of a sandbox once it has started.
#[pyclass(frozen, module = "workden._native")]
#[derive(Default)]
pub(crate) struct DaytonaStatus(daytona::DaytonaStatus);

#[pymethods]
impl DaytonaStatus {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    #[getter]
    fn id(&self) -> Option<String> {
        self.0.id()
    }

    #[getter]
    fn name(&self) -> Option<String> {
        self.0.name()
    }

    /// `keeper` or `toolbox`.
    #[getter]
    fn mode(&self) -> Option<&'static str> {
        match self.0.mode()? {
            DaytonaMode::Automatic => None,
            DaytonaMode::Keeper => Some("keeper"),
            DaytonaMode::Toolbox => Some("toolbox"),
        }
    }
}

#[pymethods]
impl NativeWorkspace {
    /// Creates a sandbox at Daytona. `config` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (config, status, asks=None))]
    fn daytona(config: &str, status: &DaytonaStatus, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let config: DaytonaConfig = serde_json::from_str(config)
            .map_err(|error| failure::raised(failure::invalid("a Daytona sandbox", error)))?;
        let (config, approvals, status) = (Arc::new(config), asking::approvals(asks), status.0.clone());
        Self::made_by(move || {
            let sandbox = sandbox(&config)?.status(&status);
            let builder = Workspace::builder().daytona(|_| sandbox).approvals(approvals.clone());
            WorkspaceParts::with_sandbox(rules::hold(builder, config.rules.as_ref(), PathScope::Machine)?)
        })
    }
}

fn sandbox(config: &DaytonaConfig) -> Result<DaytonaSandboxBuilder> {
    let mut host = HostEnvironment::from_process();
    if config.attach.is_some() {
        // An existing sandbox is where it is.
        host.variables.remove("DAYTONA_TARGET");
    }
    let mut spec = DaytonaSpec::default();
    (spec.snapshot, spec.target) = (config.snapshot.clone(), config.target.clone());
    let mut plan = spec.set(DaytonaSandbox::builder(), &host);
    plan = plan.keepers(daemons::keepers(config.keeper.as_ref(), config.keepers.as_ref(), &host));
    plan = plan.when_stopped(if config.keep { WhenStopped::Keep } else { WhenStopped::Delete });
    plan = set(plan, config.api_key.as_deref(), DaytonaSandboxBuilder::api_key);
    plan = set(plan, config.api_url.as_deref(), DaytonaSandboxBuilder::api_url);
    plan = set(plan, config.image.as_deref(), DaytonaSandboxBuilder::image);
    plan = set(plan, config.name.as_deref(), DaytonaSandboxBuilder::name);
    plan = set(plan, config.attach.as_deref(), DaytonaSandboxBuilder::attach);
    plan = set(plan, config.user.as_deref(), DaytonaSandboxBuilder::user);
    plan = set(plan, config.work_dir.as_deref(), DaytonaSandboxBuilder::work_dir);
    plan = set(plan, config.mode, |plan, mode| match mode {
        ModeOption::Keeper => plan.mode(DaytonaMode::Keeper),
        ModeOption::Toolbox => plan.mode(DaytonaMode::Toolbox),
    });
    plan = config.labels.iter().fold(plan, |plan, (name, value)| plan.label(name, value));
    plan = config.variables.iter().fold(plan, |plan, (name, value)| plan.env(name, value));
    plan = config.volumes.iter().fold(plan, |plan, (id, at)| plan.volume(id, at));
    match config.start_timeout {
        Some(time) => Ok(limited(plan, config).start_timeout(host_paths::seconds("startup_timeout", time)?)),
        None => Ok(limited(plan, config)),
    }
}

/// Resources, network and intervals.
fn limited(mut plan: DaytonaSandboxBuilder, config: &DaytonaConfig) -> DaytonaSandboxBuilder {
    plan = plan.with(|options| {
        options.memory = config.memory.map(|Size(bytes)| bytes);
        options.cpus = config.cpus;
        options.network = config.network.map(|network| match network {
            NetworkOption::None => Network::None,
            NetworkOption::Internet => Network::Host,
        });
    });
    plan = set(plan, config.disk, |plan, Size(bytes)| plan.disk(bytes));
    plan = set(plan, config.gpus, DaytonaSandboxBuilder::gpus);
    plan = config.allowed_networks.iter().fold(plan, DaytonaSandboxBuilder::allow_network);
    plan = set(plan, config.auto_stop, |plan, after| plan.auto_stop(minutes(after)));
    plan = set(plan, config.auto_archive, |plan, after| plan.auto_archive(minutes(after)));
    set(plan, config.auto_delete, |plan, after| plan.auto_delete(minutes(after)))
}

fn minutes(number: u64) -> Duration {
    Duration::from_secs(number.saturating_mul(60))
}

/// Sets an option if it has a value.
fn set<T>(
    plan: DaytonaSandboxBuilder,
    value: Option<T>,
    setter: impl FnOnce(DaytonaSandboxBuilder, T) -> DaytonaSandboxBuilder,
) -> DaytonaSandboxBuilder {
    match value {
        Some(value) => setter(plan, value),
        None => plan,
    }
}
