//! The reaper: a tiny process between the keeper and one command. It is the child subreaper of everything that the
//! command starts, reports to the keeper how the command ended, and kills on demand until no process is left.
//!
//! Invariant: only system calls after the fork. No allocation, no lock, no panic: locks that the keeper's threads
//! held stay held here. A reaper exits when it has no descendants; when the keeper is gone it kills them all at once.

pub(crate) mod command;
pub(crate) mod descendants;
pub(crate) mod marked;
pub(crate) mod message;
mod plan;
mod reap_loop;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::{
    io::Errno,
    net::SendFlags,
    process::{DumpableBehavior, Pid},
};

pub(crate) use self::plan::{Reporting, SpawnPlan, Terminal};
use self::{
    message::{ReaperReport, StartStage},
    reap_loop::Reaper,
};
use crate::{
    config::{CgroupJoin, OomPreference},
    sys::{self, ForkInto},
};

/// The most descriptors of a reaper: its link, three streams, a ruleset, and a file per controller.
const MOST_DESCRIPTORS: usize = 24;

static NO_GROUP: CgroupJoin = CgroupJoin::None;

/// Starts a reaper, which starts the command. `room` is scratch space for the ids of descendants, of which each
/// reaper gets a copy.
pub(crate) fn start(mut plan: SpawnPlan<'_>, room: &mut [i32]) -> Result<Pid, Errno> {
    sys::fork_into(&ForkInto::Here, move || {
        close_but(&plan, None);
        let (link, mark) = (plan.link, plan.mark);
        let (children, leader) = match become_subreaper().and_then(|children| Ok((children, start_command(&mut plan)?)))
        {
            Ok(started) => started,
            Err(why) => {
                report_none(link, why);
                sys::exit_now(1)
            }
        };
        if plan.oom_preference == OomPreference::CommandsFirst {
            command::let_go_first(leader);
        }
        (plan.streams, plan.join, plan.domain) = ([link; 3], &NO_GROUP, None);
        close_but(&plan, Some(children.as_fd()));
        // Dropping would free memory, which takes a lock.
        std::mem::forget(plan);
        Reaper::new(link, &children, leader, mark, room).run();
        sys::exit_now(0)
    })
}

/// Starts the command.
fn start_command(plan: &mut SpawnPlan<'_>) -> Result<Pid, Errno> {
    match (plan.join, plan.stack.take()) {
        (CgroupJoin::CloneInto(group), _) => {
            sys::fork_into(&ForkInto::Cgroup(group.as_fd()), || command::exec_command(plan))
        }
        (_, Some(stack)) => sys::start_borrowing(stack, || command::exec_command(plan)),
        (_, None) => sys::fork_into(&ForkInto::Here, || command::exec_command(plan)),
    }
}

/// Makes this process a subreaper. Returns a descriptor that becomes readable when a child changes.
fn become_subreaper() -> Result<OwnedFd, Errno> {
    // Both fail only on kernels without them. Without subreapers the command has a mark.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    sys::child_signals()
}

/// Closes all descriptors that neither the plan nor the reaper needs.
fn close_but(plan: &SpawnPlan<'_>, also: Option<BorrowedFd<'_>>) {
    let mut keep: [RawFd; MOST_DESCRIPTORS] = [-1; MOST_DESCRIPTORS];
    let joined: &[OwnedFd] = match plan.join {
        CgroupJoin::None => &[],
        CgroupJoin::Tasks(files) => files,
        CgroupJoin::CloneInto(directory) => std::slice::from_ref(directory),
    };
    let needed = plan
        .streams
        .iter()
        .copied()
        .chain([plan.link])
        .chain(also)
        .chain(plan.domain)
        .chain(joined.iter().map(AsFd::as_fd));
    for (place, fd) in keep.iter_mut().zip(needed) {
        *place = fd.as_raw_fd();
    }
    sys::close_all_but(&mut keep);
}

/// Reports that there is no process for the command.
fn report_none(link: BorrowedFd<'_>, why: Errno) {
    for report in [ReaperReport::Failed(StartStage::Fork, why), ReaperReport::Empty] {
        let _ = rustix::net::send(link, &report.encode(), SendFlags::NOSIGNAL);
    }
}
