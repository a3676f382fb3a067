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
    Den, Place,
    names::{self, Names},
};
use crate::{asking, failure, rules};

/// Configuration of a local place.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
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
impl Place {
    /// Opens host directories under their own names. `wanted` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (wanted, asks=None))]
    fn local(wanted: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let wanted: Wanted =
            serde_json::from_str(wanted).map_err(|error| failure::raised(failure::invalid("a local place", error)))?;
        let (wanted, approvals) = (Arc::new(wanted), asking::approvals(asks));
        Self::made_by(move || {
            let (real, names) = places(&wanted)?;
            let root = names::host_name(&canonical(&wanted.root)?)?;
            let durability = if wanted.durable { Durability::Fsync } else { Durability::None };
            let mut builder = Workspace::builder().work_dir(&root).durability(durability).approvals(approvals.clone());
            for directory in &real {
                builder = builder.mount(names::host_name(directory)?, directory, MountAccess::ReadWrite);
            }
            if real.is_empty() {
                // An empty list of directories allows nothing, not even files in memory.
                builder = builder.mount_backend("/", CompositeBackend::builder().build());
            }
            let surroundings = match wanted.commands {
                Commands::None => PathScope::FilesOnly,
                Commands::Host | Commands::Linux => PathScope::Machine,
            };
            builder = rules::hold(builder, wanted.rules.as_ref(), surroundings)?;
            builder = match wanted.commands {
                // A caller with the host's shell, or the host's files, has those of git as well.
                Commands::None => builder.git_files(GitFiles::Writable),
                Commands::Host => builder
                    .git_files(GitFiles::Writable)
                    .host(|host| host.work_dir(&root).with(|options| wanted.pass(options))),
                Commands::Linux => builder.linux(|linux| {
                    let linux = wanted.toolchains.iter().fold(linux, LinuxSandboxBuilder::toolchain);
                    linux.with(|options| wanted.pass(options))
                }),
            };
            Ok(Den { names: Arc::new(names), ..Den::new(builder.build()?) })
        })
    }
}

impl Wanted {
    fn pass(&self, options: &mut SandboxOptions) {
        options.keeper = self.keeper.as_ref().map(KeeperProgram::at);
        self.pass_variables.iter().for_each(|name| options.pass_env(name));
    }
}

/// The directories as they really are, and their names.
fn places(wanted: &Wanted) -> Result<(Vec<PathBuf>, Names)> {
    let both = |given: &PathBuf| Ok((given.clone(), canonical(given)?));
    let both = wanted.directories.iter().map(both).collect::<Result<Vec<_>>>()?;
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
