//! `KeeperConfig`: what every command of a keeper is started with. Entering a confinement, a container or the host
//! makes one; the process engine uses it.

use std::{collections::BTreeMap, fmt, os::fd::OwnedFd, path::PathBuf, sync::Arc, time::Duration};

use rustix::process::Resource;
use seccompiler::BpfProgram;
use workden_core::{
    VirtualPath,
    sandbox::{Isolation, Limits, Network},
};

/// What every command of a keeper is started with.
#[derive(Debug)]
pub struct KeeperConfig {
    /// The directory that is `/` to file calls, as this process sees it.
    pub files_root: PathBuf,
    /// The directory in which commands start, as this process sees it.
    pub directory: PathBuf,
    /// Where the logs of commands are stored.
    pub logs: Logs,
    /// The environment of commands.
    pub environment: BTreeMap<String, String>,
    /// The resource limits of each process.
    pub rlimits: Vec<(Resource, u64)>,
    /// The control groups that commands join.
    pub join: CgroupJoin,
    /// A seccomp filter that commands get just before they start, in addition to the keeper's own; empty for none.
    pub last_filter: BpfProgram,
    /// A Landlock ruleset that each command enters just before it starts.
    pub domain: Option<OwnedFd>,
    /// The counters of what all commands use together, and of limits that they hit.
    pub watch: Option<Arc<dyn LimitWatch>>,
    /// Which processes the kernel kills first when memory runs out.
    pub oom_preference: OomPreference,
    /// Whose children this process may have.
    pub children: Children,
    /// How long the keeper may live.
    pub wall_clock: Option<Duration>,
    /// How long it lives without calls while no command runs.
    pub idle: Option<Duration>,
    /// What commands can reach, for messages about it.
    pub network: Network,
    /// The limits as requested, for messages about them.
    pub limits: Limits,
    /// The isolation that is enforced.
    pub isolation: Isolation,
}

impl KeeperConfig {
    /// Returns the configuration for the host as it is: no wall, no limit, in a process with other children.
    #[must_use]
    pub fn host(directory: impl Into<PathBuf>, environment: BTreeMap<String, String>) -> Self {
        let directory = directory.into();
        Self {
            files_root: directory.clone(),
            directory,
            logs: Logs::Unseen(std::env::temp_dir()),
            environment,
            rlimits: Vec::new(),
            join: CgroupJoin::None,
            last_filter: BpfProgram::new(),
            domain: None,
            watch: None,
            oom_preference: OomPreference::Default,
            children: Children::OthersToo,
            wall_clock: None,
            idle: None,
            network: Network::Host,
            limits: Limits::default(),
            isolation: Isolation::none(),
        }
    }
}

/// Where the logs of commands are stored. Only the keeper can write them.
#[derive(Debug)]
pub enum Logs {
    /// In this directory, as this process sees it, as files without names.
    Unseen(PathBuf),
    /// Where commands can read them, through another mount that is read-only.
    Shown {
        /// The directory, through a writable mount that no path leads to.
        directory: Arc<OwnedFd>,
        /// The path at which commands see it.
        at: VirtualPath,
    },
}

/// How a command joins its control groups.
#[derive(Debug, Default)]
pub enum CgroupJoin {
    /// There are none.
    #[default]
    None,
    /// The command writes itself into these files: the `tasks` of version 1 groups.
    Tasks(Vec<OwnedFd>),
    /// The command is cloned into this directory: a version 2 group.
    CloneInto(OwnedFd),
}

/// Which processes the kernel kills first when memory runs out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OomPreference {
    /// The kernel decides.
    #[default]
    Default,
    /// Commands before the keeper, which shares a limit with them and whose end would end everything.
    CommandsFirst,
}

/// Whose children this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Only those of commands. This process is PID 1 or a child subreaper: a child that is not a reaper was left by a
    /// reaper that died, and is killed.
    CommandsOnly,
    /// Also children of the surrounding program: the keeper waits for reapers only.
    OthersToo,
}

/// Counts what all commands use together.
pub trait LimitWatch: Send + Sync + fmt::Debug {
    /// Returns how often a limit was hit since the sandbox started.
    fn hits(&self) -> LimitCounts;

    /// Returns what is used now.
    fn used(&self) -> ResourceUse;
}

/// How often limits were hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Processes that were killed because memory ran out.
    pub memory: u64,
    /// Processes that could not be created.
    pub processes: u64,
}

/// What all commands use together. `None` for a value that is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUse {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The highest value so far.
    pub memory_peak: Option<u64>,
    /// Processor time so far.
    pub cpu: Option<Duration>,
    /// Processes and threads.
    pub processes: Option<u64>,
}
