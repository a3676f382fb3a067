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
    NativeWorkspace, WorkspaceParts,
    host_paths::{self, GitFilesOption, HostPath, Size},
};
use crate::{asking, failure, keepers, rules};

/// Configuration of a Linux sandbox.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LinuxConfig {
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
    mounts: Vec<HostPath>,
    #[serde(default)]
    read_only: Vec<String>,
    #[serde(default)]
    masked: Vec<String>,
    #[serde(default)]
    git_files: GitFilesOption,
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
impl NativeWorkspace {
    /// Creates a Linux sandbox. `config` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (config, asks=None))]
    fn linux(config: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let config: LinuxConfig = serde_json::from_str(config)
            .map_err(|error| failure::raised(failure::invalid("a Linux sandbox", error)))?;
        let (config, approvals) = (Arc::new(config), asking::approvals(asks));
        Self::made_by(move || {
            let sandbox = sandbox(&config)?;
            let builder = Workspace::builder().linux(|_| sandbox).approvals(approvals.clone());
            WorkspaceParts::with_sandbox(rules::hold(builder, config.rules.as_ref(), PathScope::Machine)?)
        })
    }
}

fn sandbox(config: &LinuxConfig) -> Result<LinuxSandboxBuilder> {
    let mut builder = LinuxSandbox::builder()
        .keeper(keepers::program(config.keeper.as_ref())?)
        .environment_of(HostEnvironment::from_process())
        .level(config.level)
        .git_files(config.git_files.git_files())
        .network(config.network);
    if let Some(directory) = &config.directory {
        builder = builder.root(directory);
    }
    if let Some(Size(bytes)) = config.ephemeral {
        builder = builder.ephemeral(bytes);
    }
    if let Some(directory) = &config.root_files {
        builder = builder.root_files(directory);
    }
    for HostPath { source, at, access } in &config.mounts {
        builder = builder.mount(at, source, *access);
    }
    builder = config.read_only.iter().fold(builder, LinuxSandboxBuilder::read_only);
    builder = config.masked.iter().fold(builder, LinuxSandboxBuilder::masked);
    builder = config.variables.iter().fold(builder, |builder, (name, value)| builder.env(name, value));
    builder = config.pass_variables.iter().fold(builder, LinuxSandboxBuilder::pass_env);
    builder = config.toolchains.iter().fold(builder, LinuxSandboxBuilder::toolchain);
    if let Some(lease) = &config.lease {
        builder = builder.lease(host_paths::seconds("ttl", lease.ttl)?).lease_directory(&lease.directory);
    }
    builder = limited(builder, &config.limits)?;
    Ok(if config.limits_best_effort { builder.best_effort() } else { builder })
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
        builder = builder.wall_clock(host_paths::seconds("wall_clock", time)?);
    }
    if let Some(time) = limits.idle {
        builder = builder.idle(host_paths::seconds("idle", time)?);
    }
    Ok(builder)
}
