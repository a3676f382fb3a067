//! `LinuxSandbox`: commands in separate namespaces, with nothing to install.

mod launcher;
mod plan;

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

pub use launcher::LinuxLauncher;
use plan::IdentityLookup;
use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{CommandFacts, Confinement, Level, Mount, RootFiles, Shell},
};
use workden_wire::LaunchTarget;

use crate::{
    ByteSize, SandboxOptions,
    delegate::delegate_to_keeper,
    host_environment,
    keeper::{KeeperConnection, LeaseDirectory},
    limits::NamedLimits,
    options::common_options,
};

/// A sandbox of namespaces with a separate root: commands see the workspace, the host's programs and the mounts, and
/// nothing else. [`Level`] describes the weaker one without namespaces. It ends when it is dropped, or with this
/// process; with a lease, when it is stopped or the lease ends.
#[derive(Debug)]
pub struct LinuxSandbox {
    keeper: KeeperConnection,
}

delegate_to_keeper!(LinuxSandbox);

impl LinuxSandbox {
    /// Ends the sandbox at once, with all its processes, and waits until none is left. Dropping does the same without
    /// the wait; [`Sandbox::stop`](workden_core::Sandbox::stop) terminates gracefully first.
    pub async fn close(self) {
        self.keeper.close().await;
    }

    /// Attaches to a sandbox that this or another process started with a lease in this directory.
    ///
    /// # Errors
    ///
    /// `NotFound` when there is none, `Gone` when it has ended.
    pub async fn attach(directory: impl Into<PathBuf>) -> Result<Self> {
        Ok(Self { keeper: KeeperConnection::attach(LeaseDirectory::at(directory)).await? })
    }

    /// Returns a builder. By default: an empty workspace in memory, no network, a clean environment.
    pub fn builder() -> LinuxSandboxBuilder {
        LinuxSandboxBuilder {
            options: SandboxOptions::default(),
            level: Level::default(),
            root_files: RootFiles::Host,
            ephemeral: plan::EPHEMERAL_BYTES,
            toolchains: Vec::new(),
            project_toolchains: Vec::new(),
            kept: KeptDirectories::default(),
            limits: NamedLimits::default(),
            lease_directory: None,
        }
    }
}

/// The options of a [`LinuxSandbox`]: those that all sandboxes have, and its own.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `start`"]
pub struct LinuxSandboxBuilder {
    pub(crate) options: SandboxOptions,
    level: Level,
    root_files: RootFiles,
    ephemeral: u64,
    toolchains: Vec<String>,
    project_toolchains: Vec<String>,
    kept: KeptDirectories,
    limits: NamedLimits,
    lease_directory: Option<PathBuf>,
}

/// Directories of the host that the caller keeps between sandboxes, such as caches of packages. They are not files of
/// the workspace: no policy masks them, and nothing in them is protected from commands that may write them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptDirectories {
    /// The directories. One whose path another mount uses is left out.
    pub mounts: Vec<Mount>,
    /// Directories of the sandbox to put first on the search path.
    pub programs: Vec<VirtualPath>,
    /// Variables, unless the options set them.
    pub environment: BTreeMap<String, String>,
}

common_options!(LinuxSandboxBuilder);

impl LinuxSandboxBuilder {
    /// Sets the isolation: namespaces by default. [`Level::Landlock`] isolates less, and works where namespaces are
    /// forbidden. Neither falls back to the other.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Sets the size of the work directory in memory, which is used without a `root`.
    pub fn ephemeral(mut self, most: impl ByteSize) -> Self {
        self.ephemeral = self.options.take(most.bytes()).unwrap_or(self.ephemeral);
        self
    }

    /// Uses programs and libraries from a directory with a root file system, instead of the host's.
    pub fn root_files(mut self, directory: impl Into<PathBuf>) -> Self {
        self.root_files = RootFiles::Directory(directory.into());
        self
    }

    /// Adds a toolchain of the host, by its name: one of [`crate::toolchains::TOOLCHAINS`].
    pub fn toolchain(mut self, name: impl Into<String>) -> Self {
        self.toolchains.push(name.into());
        self
    }

    /// Adds a toolchain of the host if the host has it, as the project in `root` selects it: by its `.venv`, its
    /// `.python-version` or its `.nvmrc`. One that is not found is left out.
    pub fn project_toolchain(mut self, name: impl Into<String>) -> Self {
        self.project_toolchains.push(name.into());
        self
    }

    /// Sets directories that the caller keeps between sandboxes; none at [`Level::Landlock`], whose home is new.
    pub fn kept(mut self, kept: KeptDirectories) -> Self {
        self.kept = kept;
        self
    }

    /// Sets how many files one process may have open.
    pub fn open_files(mut self, most: u64) -> Self {
        self.limits.open_files = Some(most);
        self
    }

    /// Sets the size of the largest file that commands may write.
    pub fn file_size(mut self, most: impl ByteSize) -> Self {
        self.limits.file_size = self.options.take(most.bytes());
        self
    }

    /// Sets the size of /tmp.
    pub fn tmp_size(mut self, most: impl ByteSize) -> Self {
        self.limits.tmp_size = self.options.take(most.bytes());
        self
    }

    /// Sets how long the sandbox may live.
    pub fn wall_clock(mut self, most: Duration) -> Self {
        self.limits.wall_clock = Some(most);
        self
    }

    /// Sets how long it lives without calls and without running commands.
    pub fn idle(mut self, most: Duration) -> Self {
        self.limits.idle = Some(most);
        self
    }

    /// Sets where [`LinuxSandbox::attach`] finds a sandbox with a lease. The directory is created at the start,
    /// private to this user, and removed with the sandbox. Its path must be short: the socket's has at most 107
    /// bytes.
    pub fn lease_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.lease_directory = Some(directory.into());
        self
    }

    /// Checks that every value is valid and supported, as far as possible before the start.
    ///
    /// # Errors
    ///
    /// The first value that is not.
    pub fn check(&self) -> Result<()> {
        self.options.check()?;
        self.directory().map(drop)
    }

    /// Returns where commands start, and where the work directory is mounted.
    ///
    /// # Errors
    ///
    /// When the level cannot mount it at the path that an option sets.
    pub fn directory(&self) -> Result<VirtualPath> {
        plan::directory(self)
    }

    /// Returns the shell that will run command lines, if it is known: another root file system may have bash or not.
    #[must_use]
    pub fn shell(&self) -> Option<Shell> {
        match self.root_files {
            RootFiles::Host => Some(host_environment::shell()),
            RootFiles::Directory(_) => None,
        }
    }

    /// Returns where these directories show the keeper program, which runs on the host: commands may not change it, and
    /// file calls should not.
    #[must_use]
    pub fn keeper_inside(&self, shown: &[Mount]) -> Vec<VirtualPath> {
        plan::programs_inside(self, shown)
    }

    /// Returns the files of the host that commands will see, and where: the workspace, unless it is in memory, and
    /// the mounts, without programs and toolchains.
    #[must_use]
    pub fn shown_files(&self) -> Vec<Mount> {
        plan::shown_files(self)
    }

    /// Returns what a model should know about commands in this sandbox.
    #[must_use]
    pub fn facts(&self) -> CommandFacts {
        CommandFacts::new()
            .network(self.options.network.unwrap_or_default())
            .home_in_memory(self.level == Level::Namespaces)
            .no_sudo(true)
            .toolchains(self.toolchains.clone())
    }

    /// Returns the configuration of the sandbox.
    ///
    /// # Errors
    ///
    /// When a toolchain is not found, or a variable is invalid.
    pub fn confinement(&self) -> Result<Confinement> {
        plan::confinement(self, IdentityLookup::InRepositories)
    }

    /// Starts the sandbox.
    ///
    /// # Errors
    ///
    /// The reason, as the keeper reports it: isolation that the machine does not support, a limit that it cannot
    /// enforce, a directory that does not exist; with a lease also a directory that exists already.
    pub async fn start(self) -> Result<LinuxSandbox> {
        let (program, log) = (self.options.keeper()?, self.options.keeper_log.clone());
        let keeper = match (self.options.lease, &self.lease_directory) {
            (None, None) => {
                let target = LaunchTarget::Linux(Box::new(plan::confinement(&self, IdentityLookup::Always)?));
                KeeperConnection::start(&program, target, log.as_deref()).await?
            }
            (Some(ttl), Some(directory)) => {
                let directory = LeaseDirectory::at(self.options.host.directory.join(directory));
                let plan = move || Ok(LaunchTarget::Linux(Box::new(plan::confinement(&self, IdentityLookup::Always)?)));
                KeeperConnection::lease(program, plan, log, (directory, ttl)).await?
            }
            (ttl, _) => return Err(half_a_lease(ttl)),
        };
        Ok(LinuxSandbox { keeper })
    }
}

fn half_a_lease(ttl: Option<Duration>) -> Error {
    let (named, missing) = if ttl.is_some() { ("lease", "lease_directory") } else { ("lease_directory", "lease") };
    Error::new(ErrorKind::InvalidArgument, format!("`{named}` requires `{missing}`"))
}
