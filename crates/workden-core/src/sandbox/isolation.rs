//! The report of the enforced isolation: the active and the missing mechanisms, and what enforces each limit.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use crate::{escape, setters::setters};

/// The isolation of a sandbox's commands from the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Isolation {
    /// The overall level.
    pub level: IsolationLevel,
    /// The active mechanisms.
    pub walls: Vec<Wall>,
    /// The missing protections that a user might expect, each in a sentence.
    pub lacking: Vec<String>,
    /// The enforcement of each requested limit.
    pub limits: Vec<LimitReport>,
    /// The way by which a remote sandbox is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached_by: Option<String>,
}

impl Isolation {
    /// Creates a report of a level, without walls and limits.
    #[must_use]
    pub fn new(level: IsolationLevel) -> Self {
        Self { level, walls: Vec::new(), lacking: Vec::new(), limits: Vec::new(), reached_by: None }
    }

    /// Creates the report for commands that run directly on the host.
    #[must_use]
    pub fn none() -> Self {
        let lacking = "commands run on the host, as the user who started them".to_owned();
        Self::new(IsolationLevel::None).lacking(vec![lacking])
    }

    /// Returns the report with every character of its sentences visible: for a report that came from another program.
    #[must_use]
    pub fn escaped(mut self) -> Self {
        let enforcement = |enforcement| match enforcement {
            Enforcement::NotEnforced(reason) => Enforcement::NotEnforced(escape::line(&reason)),
            other => other,
        };
        self.reached_by = self.reached_by.as_deref().map(escape::line);
        self.lacking = self.lacking.iter().map(|sentence| escape::line(sentence)).collect();
        for report in &mut self.limits {
            report.value = escape::line(&report.value);
            report.enforcement = enforcement(report.enforcement.clone());
        }
        self
    }

    setters! {
        /// Sets the active mechanisms.
        walls: Vec<Wall>,
        /// Sets the protections that are missing, each in a sentence.
        lacking: Vec<String>,
        /// Sets the enforcement of each requested limit.
        limits: Vec<LimitReport>,
    }
}

/// The strength of an isolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IsolationLevel {
    /// No isolation.
    None,
    /// Landlock and seccomp alone: they restrict files, processes, sockets and system calls, but commands run on the
    /// host's own paths and as one of its users.
    Landlock,
    /// Namespaces with a separate root, seccomp, and Landlock if the kernel supports it.
    Namespaces,
    /// The isolation of a container, as it was configured.
    Container,
}

/// An active isolation mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Wall {
    /// Separate user ids.
    UserNamespace,
    /// A separate root with only the granted files.
    MountNamespace,
    /// Commands see only processes of the sandbox.
    PidNamespace,
    /// No network but a private loopback.
    NetworkNamespace,
    /// Separate System V objects and message queues.
    IpcNamespace,
    /// A separate host name.
    UtsNamespace,
    /// No capabilities, and no way to gain any: `no_new_privs`.
    NoCapabilities,
    /// Only the system calls that programs need.
    Seccomp,
    /// A second check by the kernel of files, signals and sockets.
    Landlock,
    /// Commands can neither kill nor trace the keeper.
    ProtectedKeeper,
}

/// The enforcement of a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LimitReport {
    /// The limit.
    pub limit: LimitName,
    /// The value for people: `512 MB`.
    pub value: String,
    /// The value as a number of bytes, processors, processes, files or seconds. A keeper of an earlier version has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Number>,
    /// What enforces the limit.
    pub enforcement: Enforcement,
}

impl LimitReport {
    /// Creates the report of a limit, with its value in words.
    #[must_use]
    pub fn new(limit: LimitName, value: impl Into<String>, enforcement: Enforcement) -> Self {
        Self { limit, value: value.into(), amount: None, enforcement }
    }

    setters! {
        /// Sets the value as a number.
        amount: impl Into<Option<Number>>,
    }
}

/// The names of all limits.
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
    /// Returns the name for people.
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
    /// The kernel, for each process separately.
    EachProcess,
    /// The kernel, for all processes of the user namespace.
    UserNamespace,
    /// The size of a file system.
    FileSystem,
    /// The keeper.
    Keeper,
    /// The limit is not enforced, for this reason.
    NotEnforced(String),
}
