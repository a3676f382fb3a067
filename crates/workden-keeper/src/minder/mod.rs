//! The minder: a tiny process between the keeper and one command. It is the subreaper of all that
//! the command starts, tells the keeper how the command ended, and kills on demand until nothing is
//! left.
//!
//! Invariant: after the fork only system calls. No allocation, no lock, no panic: the keeper may
//! have had threads, and what those held stays held here for ever. A minder ends when it has no
//! descendant; when the keeper is gone it kills them all at once.

pub(crate) mod command;
pub(crate) mod descent;
pub(crate) mod message;

use std::{
    convert::Infallible,
    ffi::CStr,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
    time::{Duration, Instant},
};

use message::{Order, Report, Stage};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvFlags, SendFlags},
    process::{DumpableBehavior, Pid, Resource, Signal, WaitOptions, kill_process_group},
};
use seccompiler::BpfProgramRef;

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
    /// How long descendants have between `TERM` and `KILL`.
    pub(crate) grace: Duration,
    /// Room for the ids of descendants; each minder has its own copy.
    pub(crate) room: &'a mut [i32],
    /// The same for the stack on which its command begins.
    pub(crate) stack: Option<&'a mut BorrowedStack>,
}

/// What the standard streams of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terminal {
    /// Pipes and files.
    None,
    /// A terminal, which becomes its controlling one.
    Controlling,
}

/// Starts a minder, which starts the command.
pub(crate) fn start(plan: Plan<'_>) -> Result<Pid, Errno> {
    sys::fork_into(&Place::Here, move || Minder::begin(plan))
}

struct Minder<'a> {
    link: BorrowedFd<'a>,
    children: OwnedFd,
    /// The command's process, until it is reaped.
    leader: Option<Pid>,
    grace: Duration,
    /// When `TERM` turns into `KILL`.
    kill_at: Option<Instant>,
    room: &'a mut [i32],
}

impl<'a> Minder<'a> {
    /// The first thing in the new process.
    fn begin(mut plan: Plan<'a>) -> Infallible {
        // Both can only fail on kernels that know neither; a tree is then killed less surely.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        close_but(&plan, None);
        let (link, grace) = (plan.link, plan.grace);
        let children = match sys::child_signals() {
            Ok(children) => children,
            Err(why) => give_up(link, why),
        };
        let started = match (plan.join, plan.stack.take()) {
            (Join::CloneInto(group), _) => {
                sys::fork_into(&Place::Cgroup(group.as_fd()), || command::become_program(&mut plan))
            }
            (_, Some(stack)) => sys::start_borrowing(stack, || command::become_program(&mut plan)),
            (_, None) => sys::fork_into(&Place::Here, || command::become_program(&mut plan)),
        };
        let leader = match started {
            Ok(pid) => pid,
            Err(why) => give_up(link, why),
        };
        (plan.streams, plan.join, plan.domain) = ([link; 3], &NO_GROUP, None);
        close_but(&plan, Some(children.as_fd()));
        let room = room_of(plan);
        let mut minder = Minder { link, children, leader: Some(leader), grace, kill_at: None, room };
        minder.mind()
    }

    /// Reaps, reports and obeys until nothing is left.
    fn mind(&mut self) -> Infallible {
        loop {
            self.reap();
            let wait = self.kill_at.map(|at| at.saturating_duration_since(Instant::now()));
            if wait == Some(Duration::ZERO) {
                return self.kill_all();
            }
            let mut watched = [PollFd::new(&self.link, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
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
                    self.kill_at = self.kill_at.or(Instant::now().checked_add(self.grace));
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
    fn kill_all(&mut self) -> Infallible {
        loop {
            self.freeze();
            self.signal_all(&[Signal::KILL]);
            self.reap();
            let mut watched = [PollFd::new(&self.children, PollFlags::IN)];
            let _ = poll(&mut watched, Some(&timespec(KILL_AGAIN)));
            self.take_signals();
            self.reap();
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

    /// Reaps who has ended; without descendants the minder ends.
    fn reap(&mut self) {
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
                    return;
                }
                Err(Errno::INTR) => {}
                Err(_) => {
                    self.report(ended.map_or(Report::Empty, Report::EndedWhole));
                    sys::exit_now(0)
                }
            }
        }
    }

    fn take_signals(&self) {
        let mut taken = [0_u8; 1024];
        let _ = rustix::io::read(&self.children, &mut taken);
    }

    fn report(&self, report: Report) {
        let _ = rustix::net::send(self.link, &report.encode(), SendFlags::NOSIGNAL);
    }
}

/// The room for descendants, which outlives the rest of the plan.
fn room_of(plan: Plan<'_>) -> &mut [i32] {
    let Plan { room, image, .. } = plan;
    // Dropping frees memory, which takes a lock.
    std::mem::forget(image);
    room
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

/// Says that no command could be started, and ends.
fn give_up(link: BorrowedFd<'_>, why: Errno) -> ! {
    for report in [Report::Failed(Stage::Fork, why), Report::Empty] {
        let _ = rustix::net::send(link, &report.encode(), SendFlags::NOSIGNAL);
    }
    sys::exit_now(1)
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
