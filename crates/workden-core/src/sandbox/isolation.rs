//! The report of what was really enforced: which walls stand, which do not, and who holds the limits.

use serde::{Deserialize, Serialize};

use crate::setters::setters;

/// What separates the commands of a sandbox from the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Isolation {
    /// In a word.
    pub level: IsolationLevel,
    /// The walls that stand.
    pub walls: Vec<Wall>,
    /// What one might expect and does not have, each in a sentence.
    pub lacking: Vec<String>,
    /// What became of every limit that was asked for.
    pub limits: Vec<LimitReport>,
}

impl Isolation {
    /// Creates a report of a level, without walls and limits.
    #[must_use]
    pub fn new(level: IsolationLevel) -> Self {
        Self { level, walls: Vec::new(), lacking: Vec::new(), limits: Vec::new() }
    }

    /// Creates the report for commands that run as the host's own.
    #[must_use]
    pub fn none() -> Self {
        let lacking = "commands run on the host, as the user who started them".to_owned();
        Self::new(IsolationLevel::None).lacking(vec![lacking])
    }

    setters! {
        /// Sets the walls that stand.
        walls: Vec<Wall>,
        /// Sets the protections that are missing, each in a sentence.
        lacking: Vec<String>,
        /// Sets what became of every limit that was asked for.
        limits: Vec<LimitReport>,
    }
}

/// How strong an isolation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IsolationLevel {
    /// None.
    None,
    /// Landlock and seccomp alone: files, processes, sockets and system calls, but on the host's own
    /// paths and as one of its users.
    Landlock,
    /// Namespaces with a root of their own, seccomp, and Landlock where the kernel has it.
    Namespaces,
    /// Whatever the container was given.
    Container,
}

/// A wall that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Wall {
    /// User ids of its own.
    UserNamespace,
    /// A root of its own, holding what was given and nothing else.
    MountNamespace,
    /// Sees its own processes only.
    PidNamespace,
    /// No network but its own loopback.
    NetworkNamespace,
    /// System V objects and message queues of its own.
    IpcNamespace,
    /// A host name of its own.
    UtsNamespace,
    /// No capability, and none to be had: `no_new_privs`.
    NoCapabilities,
    /// Only the system calls that programs need.
    Seccomp,
    /// The kernel's second opinion about files, signals and sockets.
    Landlock,
    /// The keeper can neither be killed nor traced by what it runs.
    ProtectedKeeper,
}

/// What became of a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LimitReport {
    /// Which.
    pub limit: LimitName,
    /// As a person would say it: `512 MB`.
    pub value: String,
    /// Who holds it.
    pub enforcement: Enforcement,
}

impl LimitReport {
    /// Creates the report of a limit, with its value as a person would say it.
    #[must_use]
    pub fn new(limit: LimitName, value: impl Into<String>, enforcement: Enforcement) -> Self {
        Self { limit, value: value.into(), enforcement }
    }
}

/// The limits there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is explained at the field of `Limits` of the same name")]
pub enum LimitName {
    Memory,
    Cpus,
    Processes,
    OpenFiles,
    FileSize,
    TmpSize,
    WallClock,
    Idle,
}

impl LimitName {
    /// What a person calls it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Memory => "memory limit",
            Self::Cpus => "CPU limit",
            Self::Processes => "process limit",
            Self::OpenFiles => "limit of open files",
            Self::FileSize => "file size limit",
            Self::TmpSize => "size of /tmp",
            Self::WallClock => "time limit of the sandbox",
            Self::Idle => "idle limit of the sandbox",
        }
    }
}

/// What enforces a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// A control group, for all commands together.
    Cgroup,
    /// The kernel, for each process by itself.
    EachProcess,
    /// The kernel, for all processes of the user namespace.
    UserNamespace,
    /// The size of a file system.
    FileSystem,
    /// The keeper.
    Keeper,
    /// It is not enforced, for this reason.
    NotEnforced(String),
}
