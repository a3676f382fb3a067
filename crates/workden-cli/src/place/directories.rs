//! Which directories of the host a workspace has, and where the agent sees them: from the options, or from a
//! configuration.

use std::path::{Path, PathBuf};

use workden::{Config, MountConfig, VirtualPath, policy::MountMode};
use workden_core::{host_executed::IN_GIT_DIRECTORY, sandbox::MountAccess};
use workden_sandboxes::repositories::Repositories;

use super::{
    arguments::{MountAt, PlaceArguments, SandboxChoice},
    request,
};
use crate::failure::Failure;

/// Where the directory to work in is, for whoever runs isolated commands.
pub(super) const WORKSPACE: &str = "/workspace";

/// The directories of a workspace.
#[derive(Debug)]
pub(super) struct Directories {
    /// What is where; the directory to work in among them, if there is one.
    pub(super) all: Vec<MountAt>,
    /// Where relative paths start, and where commands run.
    pub(super) working: VirtualPath,
    /// Whether they come from a configuration, which then mounts them itself.
    pub(super) source: Source,
}

/// Who names the directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Options,
    Config,
}

impl Directories {
    /// Those that were asked for. `inside` is where isolated commands work.
    pub(super) fn of(
        arguments: &PlaceArguments,
        config: Option<(&Config, &Path)>,
        here: &Path,
        inside: &str,
    ) -> Result<Self, Failure> {
        match config {
            Some((config, base)) if !config.mounts.is_empty() => of_config(arguments, config, base, inside),
            _ => of_options(arguments, here, inside),
        }
    }

    /// What is at a place.
    pub(super) fn at(&self, place: &str) -> Option<&MountAt> {
        self.all.iter().find(|mount| mount.at.as_str() == place)
    }

    /// The directory to work in, where commands are isolated.
    pub(super) fn workspace(&self) -> Option<&Path> {
        self.at(WORKSPACE).map(|mount| mount.directory.as_path())
    }

    /// The others.
    pub(super) fn besides_workspace(&self) -> impl Iterator<Item = &MountAt> {
        self.all.iter().filter(|mount| mount.at.as_str() != WORKSPACE)
    }

    /// Those that may be written to.
    pub(super) fn writable(&self) -> impl Iterator<Item = &MountAt> {
        self.all.iter().filter(|mount| mount.access == MountAccess::ReadWrite)
    }

    /// Places that file calls may not change: read-only mounts, and what git runs by itself where a git
    /// directory has another name than usual. Those with the usual names are fixed by name.
    pub(super) fn read_only(&self) -> Vec<VirtualPath> {
        let is_read_only = |mount: &&MountAt| mount.access == MountAccess::ReadOnly;
        let mut all: Vec<VirtualPath> = self.all.iter().filter(is_read_only).map(|mount| mount.at.clone()).collect();
        for mount in self.writable() {
            let found = Repositories::in_directory(&mount.directory);
            let in_it = |directory: &VirtualPath| IN_GIT_DIRECTORY.map(|name| directory.child_unchecked(name));
            let places = found.directories.iter().flat_map(in_it).chain(found.files).chain(found.links);
            all.extend(places.map(|place| place.below(&mount.at)));
        }
        all
    }
}

fn of_options(arguments: &PlaceArguments, here: &Path, inside: &str) -> Result<Directories, Failure> {
    let working = match arguments.sandbox() {
        SandboxChoice::Linux | SandboxChoice::Docker => inside,
        SandboxChoice::Host | SandboxChoice::None => "/",
    };
    let working = VirtualPath::parse(working).map_err(request)?;
    let mut all = Vec::new();
    if arguments.state.is_none() {
        let typed = arguments.root.as_deref().unwrap_or(Path::new("."));
        let directory = existing(&here.join(typed), typed)?;
        all.push(MountAt { at: working.clone(), directory, access: MountAccess::ReadWrite });
    }
    for mount in &arguments.mount {
        let directory = existing(&here.join(&mount.directory), &mount.directory)?;
        if all.iter().any(|other: &MountAt| other.at == mount.at) {
            return Err(Failure::Request(format!("two directories are mounted at `{}`", mount.at)));
        }
        all.push(MountAt { directory, ..mount.clone() });
    }
    Ok(Directories { all, working, source: Source::Options })
}

fn of_config(arguments: &PlaceArguments, config: &Config, base: &Path, inside: &str) -> Result<Directories, Failure> {
    let named = [
        ("--root", arguments.root.is_some()),
        ("--state", arguments.state.is_some()),
        ("--mount", !arguments.mount.is_empty()),
    ];
    if let Some((name, _)) = named.iter().find(|(_, is_named)| *is_named) {
        let sentence = format!("the configuration says which directories there are, and so does `{name}`");
        return Err(Failure::Request(format!("{sentence}\nhint: leave out one of them")));
    }
    let mount = |mount: &MountConfig| {
        let access = match mount.mode {
            MountMode::ReadOnly => MountAccess::ReadOnly,
            MountMode::ReadWrite => MountAccess::ReadWrite,
        };
        let typed = PathBuf::from(&mount.directory);
        Ok(MountAt { at: mount.at.clone(), directory: existing(&base.join(&typed), &typed)?, access })
    };
    let all = config.mounts.iter().map(mount).collect::<Result<Vec<_>, Failure>>()?;
    let is_root = all.iter().any(|mount| mount.at.is_root());
    if is_root && matches!(arguments.sandbox(), SandboxChoice::Linux | SandboxChoice::Docker) {
        let sentence = "a directory at `/` is where a sandbox has its own files";
        return Err(Failure::Request(format!(
            "{sentence}\nhint: mount it at `{inside}` in the configuration, or use `--sandbox none`"
        )));
    }
    // The one that is usual, or the only one there is.
    let working = match (all.iter().find(|mount| mount.at.as_str() == inside), all.as_slice()) {
        (Some(mount), _) => mount.at.clone(),
        (None, [only]) => only.at.clone(),
        _ => VirtualPath::root(),
    };
    Ok(Directories { all, working, source: Source::Config })
}

/// A directory that is there. Who typed it may see it in an answer.
fn existing(path: &Path, typed: &Path) -> Result<PathBuf, Failure> {
    match path.is_dir() {
        true => Ok(path.to_owned()),
        false => Err(Failure::Request(format!("there is no directory `{}`", typed.display()))),
    }
}
