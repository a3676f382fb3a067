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
    /// Whether those are a terminal that the command is to lead.
    pub(crate) terminal: Terminal,
    /// What to run.
    pub(crate) image: ExecImage,
    /// Where.
    pub(crate) directory: &'a CStr,
    /// Limits of each process.
    pub(crate) rlimits: &'a [(Resource, u64)],
    /// The control groups to be in.
    pub(crate) join: &'a CgroupJoin,
    /// The last filter of system calls.
    pub(crate) filter: BpfProgramRef<'a>,
    /// The Landlock rules to be under.
    pub(crate) domain: Option<BorrowedFd<'a>>,
    /// Who goes first when memory runs out.
    pub(crate) oom_preference: OomPreference,
    /// What is reported of it.
    pub(crate) reporting: Reporting,
    /// The stack on which the command begins; each reaper has its own copy.
    pub(crate) stack: Option<&'a mut BorrowedStack>,
}

/// What is reported of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reporting {
    /// Its start and its end.
    StartAndEnd,
    /// Its end, or why there is none: to be told of the start costs who waits for the end.
    EndOnly,
}

/// What the standard streams of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// Pipes and files.
    None,
    /// A terminal, which becomes its controlling one.
    Controlling,
}
