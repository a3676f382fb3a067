//! The minder: a tiny process between the keeper and one command. It is the subreaper of all that
//! the command starts, tells the keeper how the command ended, and kills on demand until nothing is
//! left.
//!
//! Invariant: after the fork only system calls. No allocation, no lock, no panic: the keeper may
//! have had threads, and what those held stays held here for ever. (A minder of a nursery, which has
//! none, may allocate.) A minder ends when it has no descendant, or waits for its next command if it is
//! a nursery's; when the keeper is gone it kills them all at once.

pub(crate) mod command;
pub(crate) mod descent;
pub(crate) mod letter;
pub(crate) mod message;

use std::{
    ffi::CStr,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    time::{Duration, Instant},
};

use letter::Letter;
use message::{Order, Report, Stage};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvFlags, SendFlags},
    process::{DumpableBehavior, Pid, Resource, Signal, WaitOptions, kill_process_group},
};
use seccompiler::BpfProgramRef;
use workden_core::limits;

use crate::{
    setting::{Join, MemoryRunsOut},
    sys::{self, BorrowedStack, Image, Place},
};

/// Descriptors that a minder is given at most: its link, three streams, rules, a file for each controller.
const MOST_DESCRIPTORS: usize = 24;
/// How often what is left is killed again.
const KILL_AGAIN: Duration = Duration::from_millis(5);

static NO_GROUP: Join = Join::None;

/// Everything that a minder and its command need, made before the fork.
pub(crate) struct Plan<'a> {
    /// The minder's end of its link to the keeper.
    pub(crate) link: BorrowedFd<'a>,
    /// Standard input, output and error of the command.
    pub(crate) streams: [BorrowedFd<'a>; 3],
    /// Whether those are a terminal that the command is to lead.
    pub(crate) terminal: Terminal,
    /// What to run.
    pub(crate) image: Image,
    /// Where.
    pub(crate) directory: &'a CStr,
    /// Limits of each process.
    pub(crate) rlimits: &'a [(Resource, u64)],
    /// The control groups to be in.
    pub(crate) join: &'a Join,
    /// The last filter of system calls.
    pub(crate) filter: BpfProgramRef<'a>,
    /// The Landlock rules to be under.
    pub(crate) domain: Option<BorrowedFd<'a>>,
    /// Who goes first when memory runs out.
    pub(crate) memory_runs_out: MemoryRunsOut,
    /// What is reported of it.
    pub(crate) tells: Tells,
    /// The stack on which the command begins; each minder has its own copy.
    pub(crate) stack: Option<&'a mut BorrowedStack>,
}

/// What is reported of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    /// Its start and its end.
    StartAndEnd,
    /// Its end, or why there is none: to be told of the start costs who waits for the end.
    End,
}

/// What the standard streams of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// Pipes and files.
    None,
    /// A terminal, which becomes its controlling one.
    Controlling,
}

/// Starts a minder, which starts the command. There is room for the ids of descendants; each minder has its own copy.
pub(crate) fn start(mut plan: Plan<'_>, room: &mut [i32]) -> Result<Pid, Errno> {
    sys::fork_into(&Place::Here, move || {
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
        Minder::new(link, &children, leader, room).mind();
        sys::exit_now(0)
    })
}

/// Starts a minder that waits for commands, which come on its link one after the other. For a process without threads.
pub(crate) fn start_waiting(link: BorrowedFd<'_>, room: &mut [i32], stack: &mut BorrowedStack) -> Result<Pid, Errno> {
    sys::fork_into(&Place::Here, move || {
        // Standard streams stay, or descriptors that come would take their places.
        sys::close_all_but(&mut [0, 1, 2, link.as_raw_fd()]);
        let children = match settle() {
            Ok(children) => children,
            Err(why) => {
                report_none(link, why);
                sys::exit_now(1)
            }
        };
        loop {
            match Letter::receive(link) {
                Ok(Some((letter, streams))) => match begin_by(letter, streams, link, stack) {
                    Ok(leader) => Minder::new(link, &children, leader, room).mind(),
                    Err(why) => report_none(link, why),
                },
                // Nobody needs it any more.
                Ok(None) => sys::exit_now(0),
                Err(why) => report_none(link, why),
            }
        }
    })
}

/// Starts the command of a letter, on the host as it is.
fn begin_by(
    letter: Letter,
    streams: [OwnedFd; 3],
    link: BorrowedFd<'_>,
    stack: &mut BorrowedStack,
) -> Result<Pid, Errno> {
    let [input, output, error] = &streams;
    begin(&mut Plan {
        link,
        streams: [input.as_fd(), output.as_fd(), error.as_fd()],
        terminal: letter.terminal,
        image: Image::new(letter.program),
        directory: &letter.directory,
        rlimits: &[],
        join: &NO_GROUP,
        filter: &[],
        domain: None,
        memory_runs_out: MemoryRunsOut::AsUsual,
        tells: letter.tells,
        stack: Some(stack),
    })
}

/// Starts the command.
fn begin(plan: &mut Plan<'_>) -> Result<Pid, Errno> {
    match (plan.join, plan.stack.take()) {
        (Join::CloneInto(group), _) => sys::fork_into(&Place::Cgroup(group.as_fd()), || command::become_program(plan)),
        (_, Some(stack)) => sys::start_borrowing(stack, || command::become_program(plan)),
        (_, None) => sys::fork_into(&Place::Here, || command::become_program(plan)),
    }
}

/// What every minder does first; comes back with what tells of its children.
fn settle() -> Result<OwnedFd, Errno> {
    // Both can only fail on kernels that know neither; a tree is then killed less surely.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    sys::child_signals()
}

struct Minder<'a> {
    link: BorrowedFd<'a>,
    children: &'a OwnedFd,
    /// The command's process, until it is reaped.
    leader: Option<Pid>,
    /// When `TERM` turns into `KILL`.
    kill_at: Option<Instant>,
    room: &'a mut [i32],
}

/// Whether there are descendants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Something,
    Nothing,
}

impl<'a> Minder<'a> {
    fn new(link: BorrowedFd<'a>, children: &'a OwnedFd, leader: Pid, room: &'a mut [i32]) -> Self {
        Self { link, children, leader: Some(leader), kill_at: None, room }
    }

    /// Reaps, reports and obeys until nothing is left.
    fn mind(&mut self) {
        while self.reap() == Left::Something {
            let wait = self.kill_at.map(|at| at.saturating_duration_since(Instant::now()));
            if wait == Some(Duration::ZERO) {
                return self.kill_all();
            }
            let mut watched = [PollFd::new(&self.link, PollFlags::IN), PollFd::new(self.children, PollFlags::IN)];
            let _ = poll(&mut watched, wait.map(timespec).as_ref());
            let asked = !watched[0].revents().is_empty();
            self.take_signals();
            if asked {
                self.obey();
            }
        }
    }

    /// Does what the keeper wants.
    fn obey(&mut self) {
        let mut order = [0_u8; 1];
        match rustix::net::recv(self.link, &mut order, RecvFlags::DONTWAIT) {
            Ok((1.., _)) => match Order::decode(order[0]) {
                Some(Order::Terminate) => {
                    self.signal_all(&[Signal::TERM, Signal::CONT]);
                    self.kill_at = self.kill_at.or(Instant::now().checked_add(limits::TERM_TIME));
                }
                Some(Order::Kill) => self.kill_at = Some(Instant::now()),
                Some(Order::Signal(signal)) => {
                    // The leader's id is its own as long as it is not reaped.
                    if let Some(leader) = self.leader {
                        let _ = kill_process_group(leader, signal);
                    }
                }
                None => {}
            },
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The keeper is no more.
            Ok(_) | Err(_) => self.kill_at = Some(Instant::now()),
        }
    }

    /// Stops what can still fork, and kills it, again and again until nothing is left.
    fn kill_all(&mut self) {
        loop {
            self.freeze();
            self.signal_all(&[Signal::KILL]);
            if self.reap() == Left::Nothing {
                return;
            }
            let mut watched = [PollFd::new(self.children, PollFlags::IN)];
            let _ = poll(&mut watched, Some(&timespec(KILL_AGAIN)));
            self.take_signals();
            if self.reap() == Left::Nothing {
                return;
            }
        }
    }

    /// Stops all descendants, until there are no new ones: who forks faster than it is killed is
    /// stopped first.
    fn freeze(&mut self) {
        let mut before = 0;
        for _ in 0..16 {
            let found = self.signal_all(&[Signal::STOP]);
            if found <= before {
                return;
            }
            before = found;
        }
    }

    /// Sends signals to all descendants; how many there are.
    fn signal_all(&mut self, signals: &[Signal]) -> usize {
        descent::signal_all(self.room, signals)
    }

    /// Reaps who has ended, and tells what there is to tell.
    fn reap(&mut self) -> Left {
        let mut ended = None;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if self.leader == Some(pid) {
                        self.leader = None;
                        ended = Some(status.as_raw());
                    }
                }
                Ok(None) => {
                    if let Some(status) = ended {
                        self.report(Report::Ended(status));
                    }
                    return Left::Something;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.report(ended.map_or(Report::Empty, Report::EndedWhole));
                    return Left::Nothing;
                }
            }
        }
    }

    fn take_signals(&self) {
        let mut taken = [0_u8; 1024];
        let _ = rustix::io::read(self.children, &mut taken);
    }

    fn report(&self, report: Report) {
        let _ = rustix::net::send(self.link, &report.encode(), SendFlags::NOSIGNAL);
    }
}

/// Closes what neither the plan nor the minder needs.
fn close_but(plan: &Plan<'_>, also: Option<BorrowedFd<'_>>) {
    let mut keep: [RawFd; MOST_DESCRIPTORS] = [-1; MOST_DESCRIPTORS];
    let joined: &[OwnedFd] = match plan.join {
        Join::None => &[],
        Join::Tasks(files) => files,
        Join::CloneInto(directory) => std::slice::from_ref(directory),
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
pub(crate) fn report_none(link: BorrowedFd<'_>, why: Errno) {
    for report in [Report::Failed(Stage::Fork, why), Report::Empty] {
        let _ = rustix::net::send(link, &report.encode(), SendFlags::NOSIGNAL);
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
