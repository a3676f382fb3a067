//! `LinuxSandbox`: commands in namespaces of their own, with nothing to install.

mod launcher;
mod plan;

use std::{path::PathBuf, time::Duration};

pub use launcher::LinuxLauncher;
use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{Confinement, Level, Mount, RootFiles},
};
use workden_wire::LaunchTarget;

use crate::{
    ByteSize, SandboxOptions,
    delegate::delegate_to_keeper,
    keeper::{KeeperConnection, LeaseDirectory},
    limits::NamedLimits,
    options::common_options,
};

/// A sandbox of namespaces, with a root of its own: commands see the workspace, the host's programs
/// and what was mounted, and nothing else. Where there are no namespaces, one of less: see [`Level`].
/// It ends when it is dropped, or with this process; one that was started with a lease when it is stopped, or
/// when its lease is over.
#[derive(Debug)]
pub struct LinuxSandbox {
    keeper: KeeperConnection,
}

delegate_to_keeper!(LinuxSandbox);

impl LinuxSandbox {
    /// Ends it at once, with all that runs in it, and waits until nothing is left. Dropping it does the
    /// same without the wait; [`Sandbox::stop`](workden_core::Sandbox::stop) asks first.
    pub async fn close(self) {
        self.keeper.close().await;
    }

    /// Comes back to a sandbox that was started with a lease in this directory, in this process or another.
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
            limits: NamedLimits::default(),
            lease_directory: None,
        }
    }
}

/// What a [`LinuxSandbox`] is given: the options that all sandboxes have, and its own.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `start`"]
pub struct LinuxSandboxBuilder {
    pub(crate) options: SandboxOptions,
    level: Level,
    root_files: RootFiles,
    ephemeral: u64,
    toolchains: Vec<String>,
    limits: NamedLimits,
    lease_directory: Option<PathBuf>,
}

common_options!(LinuxSandboxBuilder);

impl LinuxSandboxBuilder {
    /// What its walls are made of: namespaces by default. [`Level::Landlock`] holds less, and works where namespaces
    /// are forbidden. Neither ever takes the place of the other.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// The size of the work directory in memory, where no `root` is named.
    pub fn ephemeral(mut self, most: impl ByteSize) -> Self {
        self.ephemeral = self.options.take(most.bytes()).unwrap_or(self.ephemeral);
        self
    }

    /// Programs and libraries from a directory that holds a root file system, instead of the host's.
    pub fn root_files(mut self, directory: impl Into<PathBuf>) -> Self {
        self.root_files = RootFiles::Directory(directory.into());
        self
    }

    /// A toolchain of the host, by its name: one of [`crate::toolchains::TOOLCHAINS`].
    pub fn toolchain(mut self, name: impl Into<String>) -> Self {
        self.toolchains.push(name.into());
        self
    }

    /// Files that one process may have open.
    pub fn open_files(mut self, most: u64) -> Self {
        self.limits.open_files = Some(most);
        self
    }

    /// The largest file that commands may write.
    pub fn file_size(mut self, most: impl ByteSize) -> Self {
        self.limits.file_size = self.options.take(most.bytes());
        self
    }

    /// The size of /tmp.
    pub fn tmp_size(mut self, most: impl ByteSize) -> Self {
        self.limits.tmp_size = self.options.take(most.bytes());
        self
    }

    /// How long the sandbox may live.
    pub fn wall_clock(mut self, most: Duration) -> Self {
        self.limits.wall_clock = Some(most);
        self
    }

    /// How long it lives without calls and without running commands.
    pub fn idle(mut self, most: Duration) -> Self {
        self.limits.idle = Some(most);
        self
    }

    /// Where a sandbox with a lease is found again, by [`LinuxSandbox::attach`]. The directory is created at the
    /// start, for this user alone, and removed with the sandbox. Its path is short: the socket's has at most 107 bytes.
    pub fn lease_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.lease_directory = Some(directory.into());
        self
    }

    /// Checks what can be known before the start: that every value can be read, and is supported.
    ///
    /// # Errors
    ///
    /// The first that is not.
    pub fn check(&self) -> Result<()> {
        self.options.check()?;
        self.directory().map(drop)
    }

    /// Where commands start, and where the work directory is shown.
    ///
    /// # Errors
    ///
    /// When the level cannot show it at the path that an option names.
    pub fn directory(&self) -> Result<VirtualPath> {
        plan::directory(self)
    }

    /// The files of the host that commands will be shown, and where: the workspace, unless it is in
    /// memory, and the mounts. Programs are not among them, nor toolchains.
    #[must_use]
    pub fn shown_files(&self) -> Vec<Mount> {
        plan::shown_files(self)
    }

    /// What the sandbox will be given.
    ///
    /// # Errors
    ///
    /// When a toolchain is not there, or a variable cannot be one.
    pub fn confinement(&self) -> Result<Confinement> {
        plan::confinement(self)
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// The reason, as the keeper says it: a wall that the machine does not have, a limit that it cannot enforce,
    /// a directory that does not exist; with a lease also a directory that exists already.
    pub async fn start(self) -> Result<LinuxSandbox> {
        let (program, log) = (self.options.keeper()?, self.options.keeper_log.clone());
        let keeper = match (self.options.lease, &self.lease_directory) {
            (None, None) => {
                let target = LaunchTarget::Linux(Box::new(self.confinement()?));
                KeeperConnection::start(&program, target, log.as_deref()).await?
            }
            (Some(ttl), Some(directory)) => {
                let directory = LeaseDirectory::at(self.options.host.directory.join(directory));
                let plan = move || Ok(LaunchTarget::Linux(Box::new(self.confinement()?)));
                KeeperConnection::lease(program, plan, log, (directory, ttl)).await?
            }
            (ttl, _) => return Err(half_a_lease(ttl)),
        };
        Ok(LinuxSandbox { keeper })
    }
}

fn half_a_lease(ttl: Option<Duration>) -> Error {
    let (named, missing) = if ttl.is_some() { ("lease", "lease_directory") } else { ("lease_directory", "lease") };
    Error::new(ErrorKind::InvalidArgument, format!("`{named}` needs `{missing}` as well"))
}
