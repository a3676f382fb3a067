//! `KeeperConfig`: what every command of a keeper is started with. Made by whoever prepared the ground
//! (the host as it is, namespaces, a container), used by whoever starts processes.

use std::{collections::BTreeMap, fmt, os::fd::OwnedFd, path::PathBuf, sync::Arc, time::Duration};

use rustix::process::Resource;
use seccompiler::BpfProgram;
use workden_core::{
    VirtualPath,
    sandbox::{Isolation, Limits},
};

/// What every command of a keeper is started with.
#[derive(Debug)]
pub struct KeeperConfig {
    /// What is `/` to file calls, as this process sees it.
    pub files_root: PathBuf,
    /// Where commands start, as this process sees it.
    pub directory: PathBuf,
    /// Where the logs of commands are.
    pub logs: Logs,
    /// The environment of commands.
    pub environment: BTreeMap<String, String>,
    /// What each process is limited to by the kernel.
    pub rlimits: Vec<(Resource, u64)>,
    /// The control groups that commands join.
    pub join: CgroupJoin,
    /// A filter of system calls that commands get just before they start, besides the keeper's own if
    /// that has one; empty for none.
    pub last_filter: BpfProgram,
    /// A Landlock ruleset that each command puts itself under just before it starts.
    pub domain: Option<OwnedFd>,
    /// Who counts what all commands use together, and how often they ran into a limit.
    pub watch: Option<Arc<dyn LimitWatch>>,
    /// Who goes first when memory runs out.
    pub oom_preference: OomPreference,
    /// Whose the children of this process are.
    pub children: Children,
    /// How long the keeper may live.
    pub wall_clock: Option<Duration>,
    /// How long it lives while nobody asks anything of it and nothing runs.
    pub idle: Option<Duration>,
    /// The limits as they were asked for, for sentences about them.
    pub limits: Limits,
    /// What was enforced.
    pub isolation: Isolation,
}

impl KeeperConfig {
    /// The host as it is: no wall, no limit, in a process with other children.
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
            limits: Limits::default(),
            isolation: Isolation::none(),
        }
    }
}

/// Where the logs of commands are. Nobody but the keeper writes them.
#[derive(Debug)]
pub enum Logs {
    /// In this directory, as this process sees it, without names.
    Unseen(PathBuf),
    /// Commands can read them. They see the same files by another mount, which is read-only.
    Shown {
        /// The directory, by a mount that can be written and that no path leads to.
        directory: Arc<OwnedFd>,
        /// Where commands see it.
        at: VirtualPath,
    },
}

/// How a command gets into its control groups.
#[derive(Debug, Default)]
pub enum CgroupJoin {
    /// It does not.
    #[default]
    None,
    /// It writes itself into these files: `tasks` of control groups of version 1.
    Tasks(Vec<OwnedFd>),
    /// It is made in this directory: a control group of version 2.
    CloneInto(OwnedFd),
}

/// Who goes first when memory runs out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OomPreference {
    /// Whoever the kernel takes.
    #[default]
    Default,
    /// Commands before the keeper, which shares a limit with them, and with which everything would end.
    CommandsFirst,
}

/// Whose the children of this process are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Commands' only. This process is PID 1 or a child subreaper: any child that is no reaper was
    /// left by a reaper that died, and is killed.
    CommandsOnly,
    /// Others' too: only reapers are waited for.
    OthersToo,
}

/// Counts what all commands use together.
pub trait LimitWatch: Send + Sync + fmt::Debug {
    /// How often a limit was hit since the sandbox began.
    fn hits(&self) -> LimitCounts;

    /// What is used now.
    fn used(&self) -> ResourceUse;
}

/// How often limits were hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitCounts {
    /// Processes that were killed for want of memory.
    pub memory: u64,
    /// Processes that could not be made.
    pub processes: u64,
}

/// What all commands use together. `None` where nobody counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUse {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// The most that it has been.
    pub memory_peak: Option<u64>,
    /// Processor time so far.
    pub cpu: Option<Duration>,
    /// Processes and threads.
    pub processes: Option<u64>,
}
