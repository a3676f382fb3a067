//! Host directories under their own names, with the host's shell or a sandbox around the same directories.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pyo3::prelude::*;
use serde::Deserialize;
use workden::{
    Error, ErrorKind, GitFiles, KeeperProgram, MountAccess, Result, SandboxOptions, Workspace,
    files::{CompositeBackend, Durability},
    sandboxes::LinuxSandboxBuilder,
};
use workden_policy::PathScope;

use super::{
    NativeWorkspace, WorkspaceParts,
    names::{self, Names},
};
use crate::{asking, failure, rules};

/// Configuration of a local workspace.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LocalConfig {
    /// Base directory of relative paths and commands.
    root: PathBuf,
    /// The directories that may be used.
    directories: Vec<PathBuf>,
    #[serde(default)]
    commands: Commands,
    #[serde(default)]
    keeper: Option<PathBuf>,
    #[serde(default)]
    rules: Option<String>,
    #[serde(default)]
    durable: bool,
    /// Host environment variables that commands see as well.
    #[serde(default)]
    pass_variables: Vec<String>,
    /// Host toolchains to provide in a sandbox, too.
    #[serde(default)]
    toolchains: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Commands {
    /// No commands.
    #[default]
    None,
    /// On the host.
    Host,
    /// In a Linux sandbox.
    Linux,
}

#[pymethods]
impl NativeWorkspace {
    /// Opens host directories under their own names. `config` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (config, asks=None))]
    fn local(config: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let config: LocalConfig =
            serde_json::from_str(config).map_err(|error| failure::raised(failure::invalid("a local place", error)))?;
        let (config, approvals) = (Arc::new(config), asking::approvals(asks));
        Self::made_by(move || {
            let (real, names) = real_directories(&config)?;
            let root = names::host_name(&canonical(&config.root)?)?;
            let durability = if config.durable { Durability::Fsync } else { Durability::None };
            let mut builder = Workspace::builder().work_dir(&root).durability(durability).approvals(approvals.clone());
            for directory in &real {
                builder = builder.mount(names::host_name(directory)?, directory, MountAccess::ReadWrite);
            }
            if real.is_empty() {
                // An empty list of directories allows nothing, not even files in memory.
                builder = builder.mount_backend("/", CompositeBackend::builder().build());
            }
            let surroundings = match config.commands {
                Commands::None => PathScope::FilesOnly,
                Commands::Host | Commands::Linux => PathScope::Machine,
            };
            builder = rules::hold(builder, config.rules.as_ref(), surroundings)?;
            builder = match config.commands {
                // A caller with the host's shell, or the host's files, has those of git as well.
                Commands::None => builder.git_files(GitFiles::Writable),
                Commands::Host => builder
                    .git_files(GitFiles::Writable)
                    .host(|host| host.work_dir(&root).with(|options| config.pass(options))),
                Commands::Linux => builder.linux(|linux| {
                    let linux = config.toolchains.iter().fold(linux, LinuxSandboxBuilder::toolchain);
                    linux.with(|options| config.pass(options))
                }),
            };
            Ok(WorkspaceParts { names: Arc::new(names), ..WorkspaceParts::new(builder.build()?) })
        })
    }
}

impl LocalConfig {
    fn pass(&self, options: &mut SandboxOptions) {
        options.keeper = self.keeper.as_ref().map(KeeperProgram::at);
        self.pass_variables.iter().for_each(|name| options.pass_env(name));
    }
}

/// The directories as they really are, and their names.
fn real_directories(config: &LocalConfig) -> Result<(Vec<PathBuf>, Names)> {
    let both = |given: &PathBuf| Ok((given.clone(), canonical(given)?));
    let both = config.directories.iter().map(both).collect::<Result<Vec<_>>>()?;
    let mut real: Vec<PathBuf> = Vec::new();
    for (_, directory) in &both {
        // A nested directory is reachable through the outer one.
        if !both.iter().any(|(_, other)| other != directory && directory.starts_with(other))
            && !real.contains(directory)
        {
            real.push(directory.clone());
        }
    }
    let names = Names::of(&both)?;
    Ok((real, names))
}

fn canonical(directory: &Path) -> Result<PathBuf> {
    directory.canonicalize().map_err(|error| {
        let shown = directory.display();
        Error::new(ErrorKind::NotFound, format!("cannot use the directory `{shown}`: {}", error.kind()))
            .hint("use an existing directory that this user may enter")
    })
}
