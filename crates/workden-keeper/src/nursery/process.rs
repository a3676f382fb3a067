//! The process of a nursery: it makes minders, reaps them, and kills what dead ones left.
//!
//! Invariant: one thread, so that a minder may allocate after its fork.

use std::{
    collections::BTreeMap,
    os::fd::{AsFd, OwnedFd},
    thread::sleep,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    fs::{Mode, OFlags},
    io::Errno,
    process::{
        DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process, pidfd_open,
        set_child_subreaper, set_dumpable_behavior,
    },
};
use workden_core::{Error, ErrorKind, Result};

use super::{READY, REQUEST_BYTES, Request};
use crate::{
    message::{receive_with, send_with},
    minder::{self, descent},
    processes::ROOM,
    sys::{self, BorrowedStack},
};

/// How often what is left is killed again, and how many times before it is given up.
const SWEEP_AGAIN: Duration = Duration::from_millis(2);
const SWEEPS: u32 = 1000;

/// Makes minders for whoever is at the other end of standard input, until that is closed or its owner is gone.
pub(crate) fn run() -> Result<()> {
    let broken = |_: Errno| Error::new(ErrorKind::Io, "the nursery cannot set itself up");
    let owner = getppid().and_then(|owner| pidfd_open(owner, PidfdFlags::NONBLOCK).ok());
    let requests = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(broken)?;
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(broken)?;
    rustix::stdio::dup2_stdin(&null).map_err(broken)?;
    drop(null);
    // No more than hints where they are not allowed.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = set_child_subreaper(Some(getpid()));
    sys::hold_all_signals();
    let children = sys::child_signals().map_err(broken)?;
    let ending = sys::ending_signals().map_err(|_| broken(Errno::IO))?;
    send_with(&requests, READY, &[]).map_err(broken)?;
    let mut nursery = Nursery { minders: BTreeMap::new(), room: vec![0; ROOM], stack: BorrowedStack::new() };
    nursery.work(&requests, &children, &ending, owner.as_ref());
    nursery.end();
    Ok(())
}

struct Nursery {
    /// By their ids, which are theirs until they are reaped here.
    minders: BTreeMap<i32, u64>,
    /// For minders: each has its own copy from its fork, and nobody touches this one.
    room: Vec<i32>,
    stack: BorrowedStack,
}

impl Nursery {
    /// Does what is asked until there is a reason to end.
    fn work(&mut self, requests: &OwnedFd, children: &OwnedFd, ending: &OwnedFd, owner: Option<&OwnedFd>) {
        loop {
            let owner = owner.unwrap_or(requests);
            let mut watched = [requests, children, ending, owner].map(|watched| PollFd::new(watched, PollFlags::IN));
            let _ = poll(&mut watched, None);
            let [asked, changed, told, gone] = watched.map(|watched| !watched.revents().is_empty());
            if changed {
                let mut taken = [0_u8; 1024];
                let _ = rustix::io::read(children, &mut taken);
                self.reap();
            }
            if (told && is_told_to_end(ending)) || (gone && !std::ptr::eq(owner, requests)) {
                return;
            }
            if asked && !self.obey(requests) {
                return;
            }
        }
    }

    /// Does the next thing that is asked; whether there was one.
    fn obey(&mut self, requests: &OwnedFd) -> bool {
        let (request, mut enclosed) = match receive_with(requests, REQUEST_BYTES) {
            Ok((request, enclosed)) if !request.is_empty() => (request, enclosed),
            Ok(_) | Err(_) => return false,
        };
        match (Request::decode(&request), enclosed.pop()) {
            (Some(Request::Make(number)), Some(link)) => self.make(number, &link),
            (Some(Request::Kill(number)), _) => {
                for pid in self.minders.iter().filter(|(_, own)| **own == number).map(|(pid, _)| *pid) {
                    kill(pid, Signal::KILL);
                }
            }
            (Some(Request::Sweep(dying)), answer) => {
                self.sweep(|nursery| dying.is_none_or(|dying| !nursery.minders.values().any(|own| *own == dying)));
                drop(answer);
            }
            // Without its socket nobody would hear of it.
            (Some(Request::Make(_)) | None, _) => {}
        }
        true
    }

    fn make(&mut self, number: u64, link: &OwnedFd) {
        match minder::start_waiting(link.as_fd(), &mut self.room, &mut self.stack) {
            Ok(pid) => drop(self.minders.insert(pid.as_raw_pid(), number)),
            Err(why) => minder::report_none(link.as_fd(), why),
        }
    }

    /// Reaps who has ended, lets minders go on that a command has stopped, and kills what a minder left that
    /// was killed.
    fn reap(&mut self) {
        let mut left_something = false;
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            let pid = pid.as_raw_pid();
            if !status.stopped() {
                let was_minder = self.minders.remove(&pid).is_some();
                left_something |= was_minder && status.signaled();
            } else if self.minders.contains_key(&pid) {
                kill(pid, Signal::CONT);
            }
        }
        if left_something {
            self.kill_strays();
        }
    }

    /// Kills what dead minders left until nothing is left of it and this is so. Gives up on what cannot be killed.
    fn sweep(&mut self, until: impl Fn(&Self) -> bool) {
        for _ in 0..SWEEPS {
            self.reap();
            // In this order: what a minder leaves is no stray before it is reaped.
            if until(self) && self.kill_strays() == 0 {
                return;
            }
            sleep(SWEEP_AGAIN);
        }
    }

    fn kill_strays(&self) -> usize {
        let mut strays = Vec::new();
        descent::children(None, &mut |pid| strays.extend((!self.minders.contains_key(&pid)).then_some(pid)));
        for signal in [Signal::STOP, Signal::KILL] {
            strays.iter().for_each(|&pid| kill(pid, signal));
        }
        strays.len()
    }

    /// Ends everything.
    fn end(&mut self) {
        for &pid in self.minders.keys() {
            kill(pid, Signal::KILL);
        }
        self.sweep(|nursery| nursery.minders.is_empty());
    }
}

/// Whether to end is what a signal says. An interrupt is meant for the foreground of a terminal, which this
/// process is not.
fn is_told_to_end(ending: &OwnedFd) -> bool {
    let mut signal = sys::SIGNAL_RECORD;
    match rustix::io::read(ending, &mut signal) {
        Ok(_) => [Signal::TERM, Signal::HUP].iter().any(|told| told.as_raw() == sys::signal_number(&signal)),
        Err(_) => false,
    }
}

/// To a child that was not reaped: the number is still its own.
fn kill(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}
