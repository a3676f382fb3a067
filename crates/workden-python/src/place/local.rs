//! Host directories under their own names, with the host's shell or a sandbox around the same directories.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use pyo3::prelude::*;
use serde::Deserialize;
use workden::Workspace;
use workden_core::{Error, ErrorKind, Result, Sandbox, VirtualPath, sandbox::MountAccess};
use workden_files::{CompositeBackend, Durability, LocalBackend};
use workden_policy::PathScope;
use workden_sandboxes::{HostEnvironment, HostSandbox, LateSandbox, LinuxSandbox};

use super::{
    Den, Place,
    names::{self, Names},
    shown,
};
use crate::{asking, failure, keepers, rules};

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
            let files = mounted(&real, wanted.durable)?;
            let mut builder = Workspace::builder().working_directory(root.as_str()).approvals(approvals.clone());
            let surroundings = match wanted.commands {
                Commands::None => PathScope::FilesOnly,
                Commands::Host | Commands::Linux => PathScope::Machine,
            };
            builder = rules::hold(builder, wanted.rules.as_ref(), surroundings)?;
            builder = match wanted.commands {
                Commands::None => builder.mount("/", files),
                Commands::Host | Commands::Linux => {
                    builder.sandbox(Arc::new(late(Arc::clone(&wanted), real, root, files)))
                }
            };
            Ok(Den { names: Arc::new(names), ..Den::new(builder.build()?) })
        })
    }
}

/// Returns the directories with links resolved, and their names.
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

fn mounted(directories: &[PathBuf], durable: bool) -> Result<CompositeBackend> {
    let durability = if durable { Durability::Fsync } else { Durability::None };
    let mut mounts = CompositeBackend::builder();
    for directory in directories {
        let at = names::host_name(directory)?;
        let backend = LocalBackend::options().durability(durability).open_for(&at, directory)?;
        mounts = mounts.mount(at.as_str(), backend)?;
    }
    Ok(mounts.build())
}

/// Returns the commands, started on first use.
fn late(wanted: Arc<Wanted>, directories: Vec<PathBuf>, root: VirtualPath, files: CompositeBackend) -> LateSandbox {
    LateSandbox::with_files(root, files, move || {
        let (wanted, directories) = (Arc::clone(&wanted), directories.clone());
        async move {
            let keeper = keepers::program(wanted.keeper.as_ref())?;
            let host = HostEnvironment::from_process();
            let sandbox: Arc<dyn Sandbox> = match wanted.commands {
                // Commands on the host and file calls use the same paths: the whole tree.
                Commands::None | Commands::Host => {
                    let builder = HostSandbox::builder("/").keeper(keeper).environment_of(host);
                    let builder = builder.commands_start_in(canonical(&wanted.root)?);
                    let pass = wanted.pass_variables.iter();
                    Arc::new(pass.fold(builder, |builder, name| builder.pass_variable(name)).start().await?)
                }
                Commands::Linux => {
                    let mut builder = LinuxSandbox::builder().keeper(keeper).environment_of(host);
                    for directory in &directories {
                        builder = builder.mount(directory, names::host_name(directory)?, MountAccess::ReadWrite);
                    }
                    for name in &wanted.pass_variables {
                        builder = builder.pass_variable(name);
                    }
                    for toolchain in &wanted.toolchains {
                        builder = builder.toolchain(toolchain);
                    }
                    // Rules judge a command line, but its program can open any file.
                    let denied = shown::masks(wanted.rules.as_ref(), &builder.shown_files()).await?;
                    Arc::new(builder.mask(denied).start().await?)
                }
            };
            Ok(sandbox)
        }
    })
}
