//! `Packages`: what a project needs besides its files. Toolchains of the host that it selects, the path at which
//! commands see it, caches of downloaded packages, and the result of its `[setup]`.
//!
//! Invariant: commands without a network can write nothing that is kept. Commands with one write caches, and only a
//! setup writes tools. Nothing is kept in a directory that commands can write to.

mod place;
mod setup;
mod store;
mod tree;

use std::path::{Path, PathBuf};

pub use place::ProjectPath;
pub use setup::{SetupRun, SetupStart, SetupState};
use store::ProjectStore;
use workden_core::{
    Error, ErrorKind, Result,
    sandbox::{Mount, MountAccess, Network},
};
use workden_sandboxes::{HostEnvironment, LinuxSandboxBuilder, toolchains::needed_by};
use workden_sessions::state_files::Lock;

use crate::user_sessions::state_directory;

/// The packages of projects, for sandboxes on this Linux machine.
#[derive(Clone, Debug)]
pub struct Packages {
    state: Option<PathBuf>,
    path: ProjectPath,
    toolchains: ProjectToolchains,
}

/// Whether a project gets the toolchains that its files show it to need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProjectToolchains {
    /// It does, if the host has them.
    #[default]
    Found,
    /// It gets only those that the caller names.
    Named,
}

/// A sandbox with what is kept for its project.
#[derive(Debug)]
pub struct KeptSandbox {
    /// The sandbox.
    pub builder: LinuxSandboxBuilder,
    /// Hold this while the sandbox runs; `None` when nothing is kept.
    pub used: Option<PackagesInUse>,
    /// Why nothing is kept, if it should be.
    pub problem: Option<Error>,
}

/// Shows to other processes that the packages of a project are in use.
#[derive(Debug)]
pub struct PackagesInUse {
    _lock: Lock,
}

/// What was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleared {
    /// The packages of the project.
    Removed,
    /// Nothing was kept.
    Nothing,
}

impl Packages {
    /// Keeps packages in `$XDG_STATE_HOME/workden`, or in `~/.local/state/workden`; nowhere, if neither variable names a
    /// directory.
    #[must_use]
    pub fn of_user(host: &HostEnvironment) -> Self {
        let (path, toolchains) = Default::default();
        Self { state: state_directory(host), path, toolchains }
    }

    /// Keeps packages in this directory.
    pub fn at(state: impl Into<PathBuf>) -> Self {
        let (path, toolchains) = Default::default();
        Self { state: Some(state.into()), path, toolchains }
    }

    /// Sets where commands see the project.
    #[must_use]
    pub fn path(mut self, path: ProjectPath) -> Self {
        self.path = path;
        self
    }

    /// Sets whether the project gets the toolchains that it needs.
    #[must_use]
    pub fn toolchains(mut self, toolchains: ProjectToolchains) -> Self {
        self.toolchains = toolchains;
        self
    }

    /// Adds the toolchains that a project needs, and sets the path at which commands see it.
    ///
    /// # Errors
    ///
    /// When the path is not supported.
    pub fn place(&self, builder: LinuxSandboxBuilder, project: &Path) -> Result<LinuxSandboxBuilder> {
        self.place_beside(builder, project, &[])
    }

    /// Does the same, with paths that the workspace uses as well.
    pub(crate) fn place_beside(
        &self,
        builder: LinuxSandboxBuilder,
        project: &Path,
        used: &[&str],
    ) -> Result<LinuxSandboxBuilder> {
        let builder = match self.toolchains {
            ProjectToolchains::Named => builder,
            ProjectToolchains::Found => {
                needed_by(project).into_iter().fold(builder, LinuxSandboxBuilder::project_toolchain)
            }
        };
        place::placed(self.path, builder, project, used)
    }

    /// Adds what is kept for a project: caches, writable if the sandbox has the network, and the tools of its setup.
    /// Without a usable state directory the sandbox has none of it.
    #[must_use]
    pub fn keep(&self, builder: LinuxSandboxBuilder, project: &Path) -> KeptSandbox {
        match self.kept(&builder, project) {
            Ok(None) => KeptSandbox { builder, used: None, problem: None },
            Ok(Some((kept, lock))) => {
                let used = Some(PackagesInUse { _lock: lock });
                KeptSandbox { builder: builder.kept(kept), used, problem: None }
            }
            Err(problem) => KeptSandbox { builder, used: None, problem: Some(problem) },
        }
    }

    fn kept(
        &self,
        builder: &LinuxSandboxBuilder,
        project: &Path,
    ) -> Result<Option<(workden_sandboxes::KeptDirectories, Lock)>> {
        let Some(store) = self.store(project)?.filter(|_| has_own_home(builder)) else { return Ok(None) };
        let access = access_of(builder);
        match access {
            MountAccess::ReadOnly if !store.is_there()? || store.is_in(&builder.shown_files()) => return Ok(None),
            MountAccess::ReadOnly => {}
            MountAccess::ReadWrite => {
                store.check_outside(&builder.shown_files())?;
                store.create()?;
                store.bound()?;
                store.forget_missing();
            }
        }
        let lock = store.use_together()?;
        Ok(Some((store.shown(access)?, lock)))
    }

    /// Removes what is kept for a project.
    ///
    /// # Errors
    ///
    /// `Busy` while another process uses it, and when it cannot be removed.
    pub fn clear(&self, project: &Path) -> Result<Cleared> {
        match self.store(project)? {
            Some(store) => store.remove(),
            None => Ok(Cleared::Nothing),
        }
    }

    fn store(&self, project: &Path) -> Result<Option<ProjectStore>> {
        self.state.as_deref().map(|state| ProjectStore::of(state, project)).transpose()
    }

    /// Returns the store of a project, for a task that needs one.
    fn needed_store(&self, project: &Path) -> Result<ProjectStore> {
        self.store(project)?.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, "directory for packages not found")
                .hint("set HOME or XDG_STATE_HOME to a directory that you own")
        })
    }
}

/// Whether the sandbox has a home of its own, in which directories can be mounted: not without namespaces.
fn has_own_home(builder: &LinuxSandboxBuilder) -> bool {
    builder.directory().is_ok_and(|at| !at.is_root())
}

/// Returns the access to caches: only commands with a network may write what a later one will use.
fn access_of(builder: &LinuxSandboxBuilder) -> MountAccess {
    match builder.options().network.unwrap_or_default() {
        Network::None => MountAccess::ReadOnly,
        Network::Host => MountAccess::ReadWrite,
    }
}

fn is_writable(mount: &Mount) -> bool {
    mount.access == MountAccess::ReadWrite
}
