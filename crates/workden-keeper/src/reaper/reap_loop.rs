//! The loop of a reaper while a process of its command is left. Only system calls, as in the whole module.

use std::{
    os::fd::{BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvFlags, SendFlags},
    process::{Pid, Signal, WaitOptions, getppid, kill_process, kill_process_group},
};
use workden_core::limits;

use super::{
    descendants, marked,
    message::{ReaperOrder, ReaperReport},
};

/// The interval at which remaining processes are killed again.
const KILL_AGAIN: Duration = Duration::from_millis(5);
/// The interval at which processes that are not children are looked for again: their end is not reported.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// A reaper with its command.
pub(super) struct Reaper<'a> {
    link: BorrowedFd<'a>,
    children: &'a OwnedFd,
    /// The command's process, until it is reaped.
    leader: Option<Pid>,
    /// The variable by which its processes are found where the kernel has no child subreapers.
    mark: Option<&'a [u8]>,
    /// When `TERM` turns into `KILL`.
    kill_at: Option<Instant>,
    room: &'a mut [i32],
}

/// Whether there are processes of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remaining {
    Something,
    Nothing,
}

impl<'a> Reaper<'a> {
    pub(super) fn new(
        link: BorrowedFd<'a>,
        children: &'a OwnedFd,
        leader: Pid,
        mark: Option<&'a [u8]>,
        room: &'a mut [i32],
    ) -> Self {
        Self { link, children, leader: Some(leader), mark, kill_at: None, room }
    }

    /// Reaps, reports and follows orders until no process is left.
    pub(super) fn run(&mut self) {
        while self.reap() == Remaining::Something {
            let until_kill = self.kill_at.map(|at| at.saturating_duration_since(Instant::now()));
            if until_kill == Some(Duration::ZERO) {
                return self.kill_all();
            }
            let until_look = (self.mark.is_some() && self.leader.is_none()).then_some(LOOK_AGAIN);
            let wait = until_kill.into_iter().chain(until_look).min();
            let mut watched = [PollFd::new(&self.link, PollFlags::IN), PollFd::new(self.children, PollFlags::IN)];
            let _ = poll(&mut watched, wait.map(timespec).as_ref());
            let asked = !watched[0].revents().is_empty();
            self.take_signals();
            if asked {
                self.obey();
            }
        }
    }

    /// Follows an order of the keeper.
    fn obey(&mut self) {
        let mut order = [0_u8; 1];
        match rustix::net::recv(self.link, &mut order, RecvFlags::DONTWAIT) {
            Ok((1.., _)) => match ReaperOrder::decode(order[0]) {
                Some(ReaperOrder::Terminate) => {
                    self.signal_all(&[Signal::TERM, Signal::CONT]);
                    self.kill_at = self.kill_at.or(Instant::now().checked_add(limits::TERM_TIME));
                }
                Some(ReaperOrder::Kill) => self.kill_at = Some(Instant::now()),
                Some(ReaperOrder::Signal(signal)) => {
                    // The id of the leader is not reused before it is reaped.
                    if let Some(leader) = self.leader {
                        let _ = kill_process_group(leader, signal);
                    }
                }
                None => {}
            },
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The keeper is gone.
            Ok(_) | Err(_) => self.kill_at = Some(Instant::now()),
        }
    }

    /// Stops all processes of the command and kills them, repeatedly, until none is left.
    fn kill_all(&mut self) {
        loop {
            self.freeze();
            self.signal_all(&[Signal::KILL]);
            if self.reap() == Remaining::Nothing {
                return;
            }
            let mut watched = [PollFd::new(self.children, PollFlags::IN)];
            let _ = poll(&mut watched, Some(&timespec(KILL_AGAIN)));
            self.take_signals();
            if self.reap() == Remaining::Nothing {
                return;
            }
        }
    }

    /// Stops all processes of the command until no new ones appear: a process that forks faster than it is killed has to be
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

    /// Signals all processes of the command, and returns their number.
    fn signal_all(&mut self, signals: &[Signal]) -> usize {
        match self.mark {
            None => descendants::signal_all(self.room, signals),
            Some(mark) => marked::signal_all(mark, self.leader, self.room, signals),
        }
    }

    /// Reaps children that have ended, and reports.
    fn reap(&mut self) -> Remaining {
        let mut ended = None;
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if self.leader == Some(pid) {
                        self.leader = None;
                        ended = Some(status.as_raw());
                    }
                }
                Err(Errno::INTR) => {}
                // No child is left, nor a process that has detached itself.
                Err(_) if !self.mark.is_some_and(marked::is_any_left) => {
                    self.report(ended.map_or(ReaperReport::Empty, ReaperReport::EndedWhole));
                    return Remaining::Nothing;
                }
                Ok(None) | Err(_) => {
                    if let Some(status) = ended {
                        self.report(ReaperReport::Ended(status));
                    }
                    return Remaining::Something;
                }
            }
        }
    }

    fn take_signals(&self) {
        let mut taken = [0_u8; 1024];
        let _ = rustix::io::read(self.children, &mut taken);
    }

    fn report(&self, report: ReaperReport) {
        let _ = rustix::net::send(self.link, &report.encode(), SendFlags::NOSIGNAL);
        // On the host a command can stop the keeper, which would then never read the report. A running process
        // ignores the signal.
        if let Some(keeper) = getppid() {
            let _ = kill_process(keeper, Signal::CONT);
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_nanos()),
    }
}
