//! The plan of a command: everything that its reaper and the command need, made before the fork.

use std::{ffi::CStr, os::fd::BorrowedFd};

use rustix::process::Resource;
use seccompiler::BpfProgramRef;

use crate::{
    config::{CgroupJoin, OomPreference},
    sys::{BorrowedStack, ExecImage},
};

/// Everything that a reaper and its command need, made before the fork.
pub(crate) struct SpawnPlan<'a> {
    /// The reaper's end of its link to the keeper.
    pub(crate) link: BorrowedFd<'a>,
    /// Standard input, output and error of the command.
    pub(crate) streams: [BorrowedFd<'a>; 3],
    /// Whether the streams are the controlling terminal of the command.
    pub(crate) terminal: Terminal,
    /// The program to execute.
    pub(crate) image: ExecImage,
    /// Its directory.
    pub(crate) directory: &'a CStr,
    /// The resource limits of each process.
    pub(crate) rlimits: &'a [(Resource, u64)],
    /// The control groups to join.
    pub(crate) join: &'a CgroupJoin,
    /// The command's seccomp filter.
    pub(crate) filter: BpfProgramRef<'a>,
    /// The Landlock ruleset to enter.
    pub(crate) domain: Option<BorrowedFd<'a>>,
    /// Which processes the kernel kills first when memory runs out.
    pub(crate) oom_preference: OomPreference,
    /// The variable by which the processes of the command are found where the kernel has no child subreapers.
    pub(crate) mark: Option<&'a [u8]>,
    /// Which reports are sent.
    pub(crate) reporting: Reporting,
    /// The stack on which the command starts; each reaper has its own copy.
    pub(crate) stack: Option<&'a mut BorrowedStack>,
}

/// Which reports are sent about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reporting {
    /// Its start and its end.
    StartAndEnd,
    /// Its end, or why it did not start: a report of the start would wake a caller that only waits for the end.
    EndOnly,
}

/// The kind of the standard streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// Pipes and files.
    None,
    /// A terminal, which becomes the controlling one.
    Controlling,
}
