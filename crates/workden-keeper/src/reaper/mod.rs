//! The reaper: a tiny process between the keeper and one command. It is the subreaper of all that
//! the command starts, reporting the keeper how the command ended, and kills on demand until nothing is
//! left.
//!
//! Invariant: after the fork only system calls. No allocation, no lock, no panic: the keeper may
//! have had threads, and what those held stays held here for ever. A reaper ends when it has no
//! descendant; when the keeper is gone it kills them all at once.

pub(crate) mod command;
pub(crate) mod descendants;
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
    config::CgroupJoin,
    sys::{self, ForkInto},
};

/// Descriptors that a reaper is given at most: its link, three streams, rules, a file for each controller.
const MOST_DESCRIPTORS: usize = 24;

static NO_GROUP: CgroupJoin = CgroupJoin::None;

/// Starts a reaper, which starts the command. There is room for the ids of descendants; each reaper has its own copy.
pub(crate) fn start(mut plan: SpawnPlan<'_>, room: &mut [i32]) -> Result<Pid, Errno> {
    sys::fork_into(&ForkInto::Here, move || {
        close_but(&plan, None);
        let link = plan.link;
        let (children, leader) = match settle().and_then(|children| Ok((children, begin(&mut plan)?))) {
            Ok(begun) => begun,
            Err(why) => {
                report_none(link, why);
                sys::exit_now(1)
            }
        };
        (plan.streams, plan.join, plan.domain) = ([link; 3], &NO_GROUP, None);
        close_but(&plan, Some(children.as_fd()));
        // Dropping frees memory, which takes a lock.
        std::mem::forget(plan);
        Reaper::new(link, &children, leader, room).run();
        sys::exit_now(0)
    })
}

/// Starts the command.
fn begin(plan: &mut SpawnPlan<'_>) -> Result<Pid, Errno> {
    match (plan.join, plan.stack.take()) {
        (CgroupJoin::CloneInto(group), _) => {
            sys::fork_into(&ForkInto::Cgroup(group.as_fd()), || command::exec_command(plan))
        }
        (_, Some(stack)) => sys::start_borrowing(stack, || command::exec_command(plan)),
        (_, None) => sys::fork_into(&ForkInto::Here, || command::exec_command(plan)),
    }
}

/// What every reaper does first; comes back with what reporting of its children.
fn settle() -> Result<OwnedFd, Errno> {
    // Both can only fail on kernels that know neither; a tree is then killed less surely.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    sys::child_signals()
}

/// Closes what neither the plan nor the reaper needs.
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

/// Says that there is no process for a command.
fn report_none(link: BorrowedFd<'_>, why: Errno) {
    for report in [ReaperReport::Failed(StartStage::Fork, why), ReaperReport::Empty] {
        let _ = rustix::net::send(link, &report.encode(), SendFlags::NOSIGNAL);
    }
}
