//! `LinuxSandbox`: commands in namespaces of their own, with nothing to install.

mod plan;
mod sessions;

use std::{path::PathBuf, time::Duration};

pub use plan::GitFiles;
#[cfg(feature = "docker")]
pub(crate) use plan::hold_what_runs_outside;
pub use sessions::LinuxSessions;
use workden_core::{
    Result, VirtualPath,
    sandbox::{Confinement, Level, Mount, MountAccess, Network, RootFiles, Strength, WorkFiles},
};
use workden_wire::LaunchTarget;

use crate::{
    HostEnvironment, KeeperProgram,
    delegate::delegate_to_keeper,
    keeper::{KeeperConnection, LeaseDirectory},
    limits::NamedLimits,
    variables::NamedVariables,
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

    /// Without a word: an empty workspace in memory, no network, a clean environment.
    pub fn builder() -> LinuxSandboxBuilder {
        LinuxSandboxBuilder {
            program: None,
            log: None,
            host: HostEnvironment::default(),
            level: Level::default(),
            root: RootFiles::Host,
            work: WorkFiles::Ephemeral { most_bytes: plan::EPHEMERAL_BYTES },
            mounts: Vec::new(),
            read_only: Vec::new(),
            masked: Vec::new(),
            git_files: GitFiles::default(),
            network: Network::None,
            variables: NamedVariables::default(),
            toolchains: Vec::new(),
            limits: NamedLimits::default(),
            strength: Strength::Required,
        }
    }
}

/// What a [`LinuxSandbox`] is to be given.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `start`"]
pub struct LinuxSandboxBuilder {
    program: Option<KeeperProgram>,
    log: Option<PathBuf>,
    host: HostEnvironment,
    level: Level,
    root: RootFiles,
    work: WorkFiles,
    mounts: Vec<Mount>,
    read_only: Vec<VirtualPath>,
    masked: Vec<VirtualPath>,
    git_files: GitFiles,
    network: Network,
    variables: NamedVariables,
    toolchains: Vec<String>,
    limits: NamedLimits,
    strength: Strength,
}

impl LinuxSandboxBuilder {
    /// Which program is the keeper.
    pub fn keeper(mut self, program: KeeperProgram) -> Self {
        self.program = Some(program);
        self
    }

    /// Where the keeper writes what goes wrong with it; nowhere unless named.
    pub fn keeper_log(mut self, file: impl Into<PathBuf>) -> Self {
        self.log = Some(file.into());
        self
    }

    /// Whose variables and directory toolchains, passed variables and relative paths are looked up
    /// in. Without it there are none.
    pub fn environment_of(mut self, host: HostEnvironment) -> Self {
        self.host = host;
        self
    }

    /// What its walls are made of: namespaces, unless somebody names [`Level::Landlock`], which holds
    /// less and works where nobody may make namespaces. Neither ever takes the place of the other.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// The directory of the host that is `/workspace` inside; at [`Level::Landlock`], `/` to file calls.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.work = WorkFiles::Directory(directory.into());
        self
    }

    /// An empty `/workspace` that ends with the sandbox, of at most so many bytes of memory.
    pub fn ephemeral(mut self, most_bytes: u64) -> Self {
        self.work = WorkFiles::Ephemeral { most_bytes };
        self
    }

    /// Programs and libraries from a directory that holds a root file system, instead of the host's.
    pub fn root_files(mut self, directory: impl Into<PathBuf>) -> Self {
        self.root = RootFiles::Directory(directory.into());
        self
    }

    /// Another file or directory of the host.
    pub fn mount(mut self, source: impl Into<PathBuf>, at: VirtualPath, access: MountAccess) -> Self {
        self.mounts.push(Mount { source: source.into(), at, access });
        self
    }

    /// A place that commands may read but not change.
    pub fn read_only(mut self, at: VirtualPath) -> Self {
        self.read_only.push(at);
        self
    }

    /// A place that commands may neither read nor change.
    pub fn masked(mut self, at: VirtualPath) -> Self {
        self.masked.push(at);
        self
    }

    /// Places that commands may neither read nor change: what a policy denies, as `workden::masks`
    /// finds it.
    pub fn mask(mut self, places: impl IntoIterator<Item = VirtualPath>) -> Self {
        self.masked.extend(places);
        self
    }

    /// Whether commands may change what git runs by itself; they may not unless told.
    pub fn git_files(mut self, git_files: GitFiles) -> Self {
        self.git_files = git_files;
        self
    }

    /// What can be reached; nothing unless told.
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// A variable of commands.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.set(name.into(), value.into());
        self
    }

    /// A variable of commands, with the value that the host has, if it has one.
    pub fn pass_variable(mut self, name: impl Into<String>) -> Self {
        self.variables.pass(name.into());
        self
    }

    /// A toolchain of the host, by its name: one of [`crate::toolchains::TOOLCHAINS`].
    pub fn toolchain(mut self, name: impl Into<String>) -> Self {
        self.toolchains.push(name.into());
        self
    }

    /// Bytes of memory of all commands together.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.limits.memory = Some(bytes);
        self
    }

    /// Processors: 1.5 is one and a half.
    pub fn cpus(mut self, cpus: f64) -> Self {
        self.limits.cpus = Some(cpus);
        self
    }

    /// Processes and threads of all commands together.
    pub fn processes(mut self, most: u64) -> Self {
        self.limits.processes = Some(most);
        self
    }

    /// Files that one process may have open.
    pub fn open_files(mut self, most: u64) -> Self {
        self.limits.open_files = Some(most);
        self
    }

    /// Bytes that one file may have.
    pub fn file_size(mut self, bytes: u64) -> Self {
        self.limits.file_size = Some(bytes);
        self
    }

    /// Bytes that /tmp holds.
    pub fn tmp_size(mut self, bytes: u64) -> Self {
        self.limits.tmp_size = Some(bytes);
        self
    }

    /// How long the sandbox may live.
    pub fn wall_clock(mut self, most: Duration) -> Self {
        self.limits.wall_clock = Some(most);
        self
    }

    /// How long it lives while nobody asks anything of it and no command runs.
    pub fn idle(mut self, most: Duration) -> Self {
        self.limits.idle = Some(most);
        self
    }

    /// The named limits are held where they can be, and reported where not. Without this the sandbox
    /// does not start when one cannot be held.
    pub fn limits_best_effort(mut self) -> Self {
        self.strength = Strength::BestEffort;
        self
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
    /// What stands in the way, as the keeper says it: a wall that the machine does not have, a limit
    /// that nobody can hold, a directory that is not there.
    pub async fn start(self) -> Result<LinuxSandbox> {
        let confinement = self.confinement()?;
        let program = self.program.ok_or_else(KeeperProgram::missing)?;
        let keeper =
            KeeperConnection::start(&program, LaunchTarget::Linux(Box::new(confinement)), self.log.as_deref()).await?;
        Ok(LinuxSandbox { keeper })
    }
    /// Starts it with a lease: it outlives this value and this process, until nobody has been connected to it
    /// for `ttl`, or until it is stopped. How to come back to it ([`LinuxSandbox::attach`]) is in `directory`,
    /// which is made now, for this user alone, and goes with the sandbox. Its path has to be short: it holds a
    /// socket, whose own has at most 107 bytes.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start); and when the directory is there already, cannot be made or has too long a path.
    pub async fn start_leased(self, directory: impl Into<PathBuf>, ttl: Duration) -> Result<LinuxSandbox> {
        let directory = LeaseDirectory::at(self.host.directory.join(directory.into()));
        let program = self.program.clone().ok_or_else(KeeperProgram::missing)?;
        let log = self.log.clone();
        let plan = move || Ok(LaunchTarget::Linux(Box::new(self.confinement()?)));
        let keeper = KeeperConnection::lease(program, plan, log, (directory, ttl)).await?;
        Ok(LinuxSandbox { keeper })
    }
}
