//! `Group`: the control groups of one sandbox, and which limits they hold.

use std::{
    fs,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::Path,
};

use rustix::fs::{Mode, OFlags};

use super::{counters::GroupCounters, created::CreatedGroups};
use crate::config::CgroupJoin;

/// The limits that only a control group can enforce.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct GroupLimits {
    pub(crate) memory: Option<u64>,
    pub(crate) cpus: Option<f64>,
    pub(crate) processes: Option<u64>,
}

/// Which counters of a group are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Usage, and how often a limit was hit.
    #[default]
    Usage,
    /// How often a limit was hit, which is all that a single command reports.
    Hits,
}

/// The outcome of setting one limit: enforced, or the reason why not.
pub(crate) type LimitOutcome = Result<(), String>;

/// The groups of one sandbox.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) join: CgroupJoin,
    pub(crate) watch: GroupCounters,
    /// The group of the keeper (version 2, where a group has either processes or groups).
    pub(super) keeper: Option<OwnedFd>,
    /// The directories to remove, the deepest first.
    pub(super) made: CreatedGroups,
    pub(super) counted: Counted,
    pub(crate) memory: Option<LimitOutcome>,
    pub(crate) cpus: Option<LimitOutcome>,
    pub(crate) processes: Option<LimitOutcome>,
}

impl Group {
    /// Returns the group to clone the keeper into, if it needs one.
    pub(crate) fn keeper(&self) -> Option<BorrowedFd<'_>> {
        self.keeper.as_ref().map(AsFd::as_fd)
    }

    /// Opens a usage counter, if usage is counted.
    pub(super) fn usage(&self, directory: &Path, file: &str) -> Option<OwnedFd> {
        match self.counted {
            Counted::Usage => open(directory, file, OFlags::RDONLY).ok(),
            Counted::Hits => None,
        }
    }

    /// Takes the directories to remove, for the process that outlives the sandbox.
    pub(crate) fn take_made(&mut self) -> CreatedGroups {
        std::mem::take(&mut self.made)
    }
}

/// Writes a file of a group.
pub(super) fn set(directory: &Path, file: &str, value: &str) -> Result<(), String> {
    fs::write(directory.join(file), value).map_err(|_| format!("the kernel refuses `{file}` = `{value}`"))
}

/// Opens a file of a group, for a process that will have fewer rights.
pub(super) fn open(directory: &Path, file: &str, flags: OFlags) -> Result<OwnedFd, String> {
    rustix::fs::openat(rustix::fs::CWD, directory.join(file), flags | OFlags::CLOEXEC, Mode::empty())
        .map_err(|_| format!("the kernel refuses to open `{file}` of the control group"))
}
