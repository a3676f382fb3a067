//! The sandbox of a workspace: which one, and what is known of it before it starts.

#[cfg(feature = "linux")]
use std::path::PathBuf;
use std::sync::Arc;

use workden_core::{
    Error, ErrorKind, Result, Sandbox, VirtualPath,
    sandbox::{CommandFacts, Mount, MountAccess, Network, Shell},
};
use workden_policy::Policy;
#[cfg(feature = "docker")]
use workden_sandboxes::docker::DockerSandboxBuilder;
use workden_sandboxes::{GitFiles, SessionId};
#[cfg(feature = "linux")]
use workden_sandboxes::{HostSandboxBuilder, LinuxSandboxBuilder};
use workden_sessions::SessionRecord;

#[cfg(feature = "linux")]
use crate::Packages;
#[cfg(feature = "docker")]
use crate::assembly::docker;
#[cfg(feature = "linux")]
use crate::assembly::{host, linux};
#[cfg(any(feature = "daytona", feature = "kubernetes"))]
use crate::elsewhere::{SandboxElsewhere, elsewhere};
use crate::{
    UserSessions,
    assembly::{Assembled, in_session},
    directories::Mounts,
};

/// Which sandbox commands run in.
#[derive(Clone, Debug)]
pub(crate) enum SandboxKind {
    /// Isolated on this machine.
    #[cfg(feature = "linux")]
    Linux(Box<LinuxSandboxBuilder>, Option<ProjectPackages>),
    /// On this machine, without isolation.
    #[cfg(feature = "linux")]
    Host(Box<HostSandboxBuilder>),
    /// In a container.
    #[cfg(feature = "docker")]
    Docker(Box<DockerSandboxBuilder>),
    /// Not on this machine: in a pod of a cluster, or at Daytona.
    #[cfg(any(feature = "daytona", feature = "kubernetes"))]
    Elsewhere(Arc<dyn SandboxElsewhere>),
    /// One that already runs.
    Remote(Arc<dyn Sandbox>),
    /// A session of the user, which goes on afterwards.
    Session(Box<(UserSessions, SessionId, SessionRecord)>),
}

/// The packages of a project, and its directory.
#[cfg(feature = "linux")]
#[derive(Clone, Debug)]
pub(crate) struct ProjectPackages {
    pub(crate) packages: Packages,
    pub(crate) project: PathBuf,
}

impl SandboxKind {
    /// The path of the directory to work in.
    pub(crate) fn directory(&self) -> Result<VirtualPath> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.directory(),
            #[cfg(feature = "docker")]
            Self::Docker(builder) => VirtualPath::parse(&builder.directory()),
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(builder) => VirtualPath::parse(&builder.directory()),
            #[cfg(feature = "linux")]
            Self::Host(_) => Ok(VirtualPath::root()),
            Self::Remote(_) => Ok(VirtualPath::root()),
            Self::Session(session) => Ok(session.2.directory.clone()),
        }
    }

    /// The directory in which commands start, if it is known before the sandbox runs.
    pub(crate) fn work_dir(&self, mounts: &Mounts) -> Result<Option<VirtualPath>> {
        let inside = self.directory()?;
        Ok(match self {
            Self::Remote(_) => None,
            #[cfg(feature = "linux")]
            Self::Host(builder) => builder.options().work_dir.clone().or(Some(inside)),
            // Without the default directory, use the only mount.
            _ if !mounts.directories.iter().any(|mount| mount.at == inside) => match mounts.directories.as_slice() {
                [only] => Some(only.at.clone()),
                _ => Some(inside),
            },
            _ => Some(inside),
        })
    }

    /// The shell of commands, if it is known before the sandbox runs.
    pub(crate) fn shell(&self) -> Option<Shell> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.shell(),
            #[cfg(feature = "linux")]
            Self::Host(builder) => Some(builder.shell()),
            // An image may have bash or not.
            #[cfg(feature = "docker")]
            Self::Docker(_) => None,
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(_) => None,
            Self::Remote(_) | Self::Session(_) => None,
        }
    }

    /// The time limit of a command that has none.
    pub(crate) fn timeout(&self) -> Option<std::time::Duration> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.options().timeout,
            #[cfg(feature = "linux")]
            Self::Host(builder) => builder.options().timeout,
            #[cfg(feature = "docker")]
            Self::Docker(builder) => builder.options().timeout,
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(builder) => builder.timeout(),
            Self::Remote(_) | Self::Session(_) => None,
        }
    }

    /// What a model should know about commands in this sandbox.
    pub(crate) fn facts(&self) -> CommandFacts {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.facts(),
            #[cfg(feature = "linux")]
            Self::Host(_) => CommandFacts::new().network(Network::Host),
            #[cfg(feature = "docker")]
            Self::Docker(builder) => builder.facts(),
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(builder) => builder.facts(),
            Self::Remote(_) | Self::Session(_) => CommandFacts::new(),
        }
    }

    /// Whether programs outside could execute what is written in this sandbox.
    pub(crate) fn git_files(&self) -> GitFiles {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.options().git_files,
            #[cfg(feature = "linux")]
            Self::Host(builder) => builder.options().git_files,
            #[cfg(feature = "docker")]
            Self::Docker(builder) => builder.options().git_files,
            // No program outside sees its files.
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(_) => GitFiles::Writable,
            Self::Session(session) if !session.2.has_directory() => GitFiles::Writable,
            Self::Remote(_) | Self::Session(_) => GitFiles::Protected,
        }
    }

    /// Where these directories show the program that the sandbox starts on the host.
    pub(crate) fn keeper_inside(&self, shown: &[Mount]) -> Vec<VirtualPath> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.keeper_inside(shown),
            #[cfg(feature = "linux")]
            Self::Host(_) => Vec::new(),
            #[cfg(feature = "docker")]
            Self::Docker(_) => Vec::new(),
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(_) => Vec::new(),
            Self::Remote(_) | Self::Session(_) => Vec::new(),
        }
    }

    /// The host directories that the options of the sandbox mount.
    pub(crate) fn shown_files(&self) -> Vec<Mount> {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => shown_by(builder),
            #[cfg(feature = "docker")]
            Self::Docker(builder) => builder.shown_files(),
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(_) => Vec::new(),
            #[cfg(feature = "linux")]
            Self::Host(builder) => at_root(builder.options().root()),
            Self::Remote(_) | Self::Session(_) => Vec::new(),
        }
    }

    /// Whether the files that a policy denies are masked in it.
    pub(crate) fn masks_files(&self) -> bool {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.directory().is_ok_and(|at| !at.is_root()),
            #[cfg(feature = "linux")]
            Self::Host(_) => false,
            #[cfg(feature = "docker")]
            Self::Docker(_) => true,
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(_) => false,
            Self::Session(session) => session.2.has_directory(),
            Self::Remote(_) => false,
        }
    }

    /// Adds paths that commands may read but not change, where the sandbox supports it.
    pub(crate) fn holding(self, paths: Vec<VirtualPath>) -> Self {
        match self {
            // Landlock has no read-only paths in a writable directory, and says so.
            #[cfg(feature = "linux")]
            Self::Linux(builder, packages) if builder.directory().is_ok_and(|at| !at.is_root()) => {
                Self::Linux(Box::new(builder.with(|options| options.read_only.extend(paths))), packages)
            }
            #[cfg(feature = "docker")]
            Self::Docker(builder) => Self::Docker(Box::new(builder.with(|options| options.read_only.extend(paths)))),
            other => other,
        }
    }

    /// Adds the packages of the project, where the sandbox supports it.
    #[cfg(feature = "linux")]
    pub(crate) fn keeping(self, packages: Option<ProjectPackages>) -> Self {
        match self {
            Self::Linux(builder, _) => Self::Linux(builder, packages),
            other => other,
        }
    }

    /// Returns the sandbox for these directories. Nothing starts yet.
    pub(crate) fn assemble(
        self,
        mounts: &Mounts,
        git_files: GitFiles,
        policy: &Arc<Policy>,
        durability: Option<workden_files::Durability>,
    ) -> Result<Assembled> {
        let inside = self.directory()?;
        let work_dir = self.work_dir(mounts)?.unwrap_or_else(VirtualPath::root);
        if mounts.has_root() && !self.may_have_root() {
            let sentence = "the sandbox has its own files at `/`, where a directory is mounted as well";
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint(format!(
                "mount it at `{}`, or elsewhere",
                if inside.is_root() { "/files" } else { inside.as_str() }
            )));
        }
        let assembled = match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, packages) => {
                linux((*builder, packages), mounts, git_files, (inside, work_dir), durability)
            }
            #[cfg(feature = "docker")]
            Self::Docker(builder) => docker(*builder, mounts, git_files, (&inside, work_dir), durability),
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(builder) => elsewhere(builder, mounts, work_dir, durability),
            #[cfg(feature = "linux")]
            Self::Host(builder) => host(*builder, mounts, work_dir, durability),
            Self::Session(session) => in_session(*session, mounts, work_dir, durability),
            Self::Remote(sandbox) => {
                let below: Arc<dyn workden_core::Backend> = Arc::new(Arc::clone(&sandbox));
                Ok(Assembled { files: mounts.opened(Some(below), durability)?, sandbox, lazy: None, masks: None })
            }
        }?;
        if let Some(masks) = &assembled.masks {
            masks.add(policy);
        }
        Ok(assembled)
    }

    /// Whether a directory is all that file calls can see.
    fn may_have_root(&self) -> bool {
        match self {
            #[cfg(feature = "linux")]
            Self::Linux(builder, _) => builder.directory().is_ok_and(|at| at.is_root()),
            #[cfg(feature = "linux")]
            Self::Host(_) => true,
            #[cfg(feature = "docker")]
            Self::Docker(_) => false,
            #[cfg(any(feature = "daytona", feature = "kubernetes"))]
            Self::Elsewhere(_) => false,
            Self::Remote(_) | Self::Session(_) => false,
        }
    }
}

/// The host files that commands see, at the paths of file calls. Without namespaces file calls see the directory as `/`,
/// and a rule about `/secrets` means the one in it.
#[cfg(feature = "linux")]
pub(crate) fn shown_by(builder: &LinuxSandboxBuilder) -> Vec<Mount> {
    match builder.directory().is_ok_and(|at| at.is_root()) {
        true => at_root(builder.options().root()),
        false => builder.shown_files(),
    }
}

/// Returns a directory as `/` of file calls.
#[cfg(feature = "linux")]
fn at_root(directory: Option<std::path::PathBuf>) -> Vec<Mount> {
    let access = MountAccess::ReadWrite;
    directory.map(|source| Mount { source, at: VirtualPath::root(), access }).into_iter().collect()
}
