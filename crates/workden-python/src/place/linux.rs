//! A Linux sandbox, started by the first call.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use pyo3::prelude::*;
use serde::Deserialize;
use workden::Workspace;
use workden_core::{
    Result, Sandbox, VirtualPath,
    sandbox::{Level, Network},
};
use workden_policy::PathScope;
use workden_sandboxes::{HostEnvironment, LateSandbox, LinuxSandbox, LinuxSandboxBuilder};

use super::{
    Den, Place,
    life::Life,
    shown::{self, RunOutside, Shown, Size},
};
use crate::{asking, failure, keepers, rules};

/// Configuration of a Linux sandbox.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    keeper: Option<PathBuf>,
    /// The host directory to work in; by default an empty one in memory.
    #[serde(default)]
    directory: Option<PathBuf>,
    /// Size in bytes of an empty one.
    #[serde(default)]
    ephemeral: Option<Size>,
    #[serde(default)]
    level: Level,
    #[serde(default)]
    root_files: Option<PathBuf>,
    #[serde(default)]
    mounts: Vec<Shown>,
    #[serde(default)]
    read_only: Vec<String>,
    #[serde(default)]
    masked: Vec<String>,
    #[serde(default)]
    git_files: RunOutside,
    #[serde(default)]
    network: Network,
    #[serde(default)]
    variables: BTreeMap<String, String>,
    #[serde(default)]
    pass_variables: Vec<String>,
    #[serde(default)]
    toolchains: Vec<String>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    limits_best_effort: bool,
    #[serde(default)]
    rules: Option<String>,
    /// Outlives its creator, and accepts clients as long as the lease is renewed in time.
    #[serde(default)]
    lease: Option<Lease>,
}

/// The directory of a lease, and its time to live in seconds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lease {
    directory: PathBuf,
    ttl: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Limits {
    memory: Option<Size>,
    cpus: Option<f64>,
    processes: Option<u64>,
    open_files: Option<u64>,
    file_size: Option<Size>,
    tmp_size: Option<Size>,
    /// In seconds, like the next one.
    wall_clock: Option<f64>,
    idle: Option<f64>,
}

#[pymethods]
impl Place {
    /// Creates a Linux sandbox. `wanted` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (wanted, asks=None))]
    fn linux(wanted: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let wanted: Wanted = serde_json::from_str(wanted)
            .map_err(|error| failure::raised(failure::invalid("a Linux sandbox", error)))?;
        let (wanted, approvals) = (Arc::new(wanted), asking::approvals(asks));
        Self::made_by(move || {
            let plan = plan(&wanted)?;
            let directory = match wanted.level {
                Level::Namespaces => VirtualPath::parse("/workspace")?,
                Level::Landlock => VirtualPath::root(),
            };
            let shown = plan.shown_files();
            let late = late(Arc::clone(&wanted), plan, directory);
            let mut builder = Workspace::builder().sandbox(Arc::new(late.clone())).approvals(approvals.clone());
            if wanted.level == Level::Namespaces {
                builder = wanted.git_files.held(builder, &shown);
            }
            builder = rules::hold(builder, wanted.rules.as_ref(), PathScope::Machine)?;
            let life = Life::of_late(late.clone(), move || late.has_started());
            Ok(Den { life: Some(life), ..Den::new(builder.build()?) })
        })
    }
}

fn plan(wanted: &Wanted) -> Result<LinuxSandboxBuilder> {
    let mut plan = LinuxSandbox::builder()
        .keeper(keepers::program(wanted.keeper.as_ref())?)
        .environment_of(HostEnvironment::from_process())
        .level(wanted.level)
        .git_files(wanted.git_files.git_files())
        .network(wanted.network);
    plan = match (&wanted.directory, wanted.ephemeral) {
        (Some(directory), _) => plan.directory(directory),
        (None, Some(Size(bytes))) => plan.ephemeral(bytes),
        (None, None) => plan,
    };
    if let Some(directory) = &wanted.root_files {
        plan = plan.root_files(directory);
    }
    for mount in &wanted.mounts {
        plan = plan.mount(&mount.source, VirtualPath::parse(&mount.at)?, mount.access);
    }
    for at in &wanted.read_only {
        plan = plan.read_only(VirtualPath::parse(at)?);
    }
    for at in &wanted.masked {
        plan = plan.masked(VirtualPath::parse(at)?);
    }
    plan = wanted.variables.iter().fold(plan, |plan, (name, value)| plan.variable(name, value));
    plan = wanted.pass_variables.iter().fold(plan, LinuxSandboxBuilder::pass_variable);
    plan = wanted.toolchains.iter().fold(plan, LinuxSandboxBuilder::toolchain);
    plan = limited(plan, &wanted.limits)?;
    Ok(if wanted.limits_best_effort { plan.limits_best_effort() } else { plan })
}

fn limited(mut plan: LinuxSandboxBuilder, limits: &Limits) -> Result<LinuxSandboxBuilder> {
    if let Some(Size(bytes)) = limits.memory {
        plan = plan.memory(bytes);
    }
    if let Some(cpus) = limits.cpus {
        plan = plan.cpus(cpus);
    }
    if let Some(most) = limits.processes {
        plan = plan.processes(most);
    }
    if let Some(most) = limits.open_files {
        plan = plan.open_files(most);
    }
    if let Some(Size(bytes)) = limits.file_size {
        plan = plan.file_size(bytes);
    }
    if let Some(Size(bytes)) = limits.tmp_size {
        plan = plan.tmp_size(bytes);
    }
    if let Some(time) = limits.wall_clock {
        plan = plan.wall_clock(shown::seconds("wall_clock", time)?);
    }
    if let Some(time) = limits.idle {
        plan = plan.idle(shown::seconds("idle", time)?);
    }
    Ok(plan)
}

fn late(wanted: Arc<Wanted>, plan: LinuxSandboxBuilder, directory: VirtualPath) -> LateSandbox {
    LateSandbox::new(directory, move || {
        let (wanted, plan) = (Arc::clone(&wanted), plan.clone());
        async move {
            let denied = shown::masks(wanted.rules.as_ref(), &plan.shown_files()).await?;
            let plan = plan.mask(denied);
            let sandbox = match &wanted.lease {
                Some(lease) => plan.start_leased(&lease.directory, shown::seconds("ttl", lease.ttl)?).await?,
                None => plan.start().await?,
            };
            Ok(Arc::new(sandbox) as Arc<dyn Sandbox>)
        }
    })
}
