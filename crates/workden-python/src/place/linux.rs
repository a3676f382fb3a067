//! A Linux sandbox, started by the first call.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use pyo3::prelude::*;
use serde::Deserialize;
use workden::{
    HostEnvironment, Level, Network, Result, Workspace,
    sandboxes::{LinuxSandbox, LinuxSandboxBuilder},
};
use workden_policy::PathScope;

use super::{
    Den, Place,
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
            let sandbox = sandbox(&wanted)?;
            let builder = Workspace::builder().linux(|_| sandbox).approvals(approvals.clone());
            Den::with_sandbox(rules::hold(builder, wanted.rules.as_ref(), PathScope::Machine)?)
        })
    }
}

fn sandbox(wanted: &Wanted) -> Result<LinuxSandboxBuilder> {
    let mut builder = LinuxSandbox::builder()
        .keeper(keepers::program(wanted.keeper.as_ref())?)
        .environment_of(HostEnvironment::from_process())
        .level(wanted.level)
        .git_files(wanted.git_files.git_files())
        .network(wanted.network);
    if let Some(directory) = &wanted.directory {
        builder = builder.root(directory);
    }
    if let Some(Size(bytes)) = wanted.ephemeral {
        builder = builder.ephemeral(bytes);
    }
    if let Some(directory) = &wanted.root_files {
        builder = builder.root_files(directory);
    }
    for Shown { source, at, access } in &wanted.mounts {
        builder = builder.mount(at, source, *access);
    }
    builder = wanted.read_only.iter().fold(builder, LinuxSandboxBuilder::read_only);
    builder = wanted.masked.iter().fold(builder, LinuxSandboxBuilder::masked);
    builder = wanted.variables.iter().fold(builder, |builder, (name, value)| builder.env(name, value));
    builder = wanted.pass_variables.iter().fold(builder, LinuxSandboxBuilder::pass_env);
    builder = wanted.toolchains.iter().fold(builder, LinuxSandboxBuilder::toolchain);
    if let Some(lease) = &wanted.lease {
        builder = builder.lease(shown::seconds("ttl", lease.ttl)?).lease_directory(&lease.directory);
    }
    builder = limited(builder, &wanted.limits)?;
    Ok(if wanted.limits_best_effort { builder.best_effort() } else { builder })
}

fn limited(mut builder: LinuxSandboxBuilder, limits: &Limits) -> Result<LinuxSandboxBuilder> {
    builder = builder.with(|options| {
        options.memory = limits.memory.map(|Size(bytes)| bytes);
        options.cpus = limits.cpus;
        options.pids = limits.processes;
    });
    if let Some(most) = limits.open_files {
        builder = builder.open_files(most);
    }
    if let Some(Size(bytes)) = limits.file_size {
        builder = builder.file_size(bytes);
    }
    if let Some(Size(bytes)) = limits.tmp_size {
        builder = builder.tmp_size(bytes);
    }
    if let Some(time) = limits.wall_clock {
        builder = builder.wall_clock(shown::seconds("wall_clock", time)?);
    }
    if let Some(time) = limits.idle {
        builder = builder.idle(shown::seconds("idle", time)?);
    }
    Ok(builder)
}
