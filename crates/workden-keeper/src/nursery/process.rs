//! The process of a nursery: it makes minders, reaps them, and kills what dead ones left.
//!
//! Invariant: one thread, so that a minder may allocate after its fork.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::fd::{AsFd, OwnedFd},
    thread::sleep,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{Mode, OFlags},
    io::Errno,
    net::{Shutdown, shutdown},
    process::{
        DumpableBehavior, Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process, pidfd_open,
        set_child_subreaper, set_dumpable_behavior,
    },
};
use workden_core::{Error, ErrorKind, Result};

use super::{READY, REQUEST_BYTES, Request};
use crate::{
    message::{Wait, receive_with, send_with},
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
    send_with(&requests, READY, &[], Wait::Never).map_err(broken)?;
    let mut nursery = Nursery::default();
    nursery.work(&requests, &children, &ending, owner.as_ref());
    nursery.end();
    Ok(())
}

struct Nursery {
    /// By their ids, which are theirs until they are reaped here.
    minders: BTreeMap<i32, Minder>,
    sweeps: Vec<Sweep>,
    /// Strays that cannot be killed.
    given_up: BTreeSet<i32>,
    /// For minders: each has its own copy from its fork, and nobody touches this one.
    room: Vec<i32>,
    stack: BorrowedStack,
}

struct Minder {
    number: u64,
    /// Its end of its link, which is shut down when it is dead: others may hold it, such as a process that was forked
    /// at the wrong moment, so that the program would never hear of it.
    link: OwnedFd,
}

/// What somebody waits for.
struct Sweep {
    /// The end of this minder, and of all strays.
    dying: Option<u64>,
    answer: Option<OwnedFd>,
    tried: u32,
}

impl Default for Nursery {
    fn default() -> Self {
        Self {
            minders: BTreeMap::new(),
            sweeps: Vec::new(),
            given_up: BTreeSet::new(),
            room: vec![0; ROOM],
            stack: BorrowedStack::new(),
        }
    }
}

impl Nursery {
    /// Does what is asked until there is a reason to end.
    fn work(&mut self, requests: &OwnedFd, children: &OwnedFd, ending: &OwnedFd, owner: Option<&OwnedFd>) {
        loop {
            let owner = owner.unwrap_or(requests);
            let mut watched = [requests, children, ending, owner].map(|watched| PollFd::new(watched, PollFlags::IN));
            let until = Timespec::try_from(SWEEP_AGAIN).ok().filter(|_| !self.sweeps.is_empty());
            match poll(&mut watched, until.as_ref()) {
                Ok(_) => {}
                Err(Errno::INTR | Errno::AGAIN | Errno::NOMEM) => continue,
                // There is no watching any more.
                Err(_) => return,
            }
            let [asked, changed, told, gone] = watched.map(|watched| !watched.revents().is_empty());
            if changed {
                let mut taken = [0_u8; 1024];
                let _ = rustix::io::read(children, &mut taken);
                self.reap();
            }
            if (told && is_told_to_end(ending)) || (gone && !std::ptr::eq(owner, requests)) {
                return;
            }
            if asked && self.obey(requests) == Asked::NothingAnyMore {
                return;
            }
            self.sweep();
        }
    }

    /// Does the next thing that is asked.
    fn obey(&mut self, requests: &OwnedFd) -> Asked {
        let (request, mut enclosed) = match receive_with(requests, REQUEST_BYTES) {
            Ok((request, _)) if request.is_empty() => return Asked::NothingAnyMore,
            Ok(received) => received,
            // No memory at the moment.
            Err(Errno::NOMEM | Errno::NOBUFS | Errno::AGAIN) => return Asked::Something,
            Err(_) => return Asked::NothingAnyMore,
        };
        match (Request::decode(&request), enclosed.pop()) {
            (Some(Request::Make(number)), Some(link)) => self.make(number, link),
            (Some(Request::Kill(number)), _) => self.kill_minder(number),
            (Some(Request::Sweep(dying)), answer) => {
                dying.into_iter().for_each(|number| self.kill_minder(number));
                self.sweeps.push(Sweep { dying, answer, tried: 0 });
            }
            // Without its socket nobody would hear of it.
            (Some(Request::Make(_)) | None, _) => {}
        }
        Asked::Something
    }

    fn make(&mut self, number: u64, link: OwnedFd) {
        match minder::start_waiting(link.as_fd(), &mut self.room, &mut self.stack) {
            Ok(pid) => drop(self.minders.insert(pid.as_raw_pid(), Minder { number, link })),
            Err(why) => {
                minder::report_none(link.as_fd(), why);
                let _ = shutdown(&link, Shutdown::Both);
            }
        }
    }

    fn kill_minder(&self, number: u64) {
        for (&pid, minder) in self.minders.iter().filter(|(_, minder)| minder.number == number) {
            kill(pid, Signal::KILL);
            // The program need not wait until it is reaped: somebody who traces it can put that off.
            let _ = shutdown(&minder.link, Shutdown::Both);
        }
    }

    /// Reaps who has ended, lets minders go on that a command has stopped, and kills what a minder left that
    /// was killed.
    fn reap(&mut self) {
        let mut left_something = false;
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            let pid = pid.as_raw_pid();
            if !status.stopped() {
                self.given_up.remove(&pid);
                if let Some(minder) = self.minders.remove(&pid) {
                    let _ = shutdown(&minder.link, Shutdown::Both);
                    left_something |= status.signaled();
                }
            } else if self.minders.contains_key(&pid) {
                kill(pid, Signal::CONT);
            }
        }
        if left_something {
            self.kill_strays();
        }
    }

    /// Goes on with what somebody waits for, and says what is done: nobody waits for what cannot be killed.
    fn sweep(&mut self) {
        if self.sweeps.is_empty() {
            return;
        }
        self.reap();
        // Also while a minder lives that was killed: who traces it keeps it from its end.
        let strays = self.kill_strays();
        let minders = &self.minders;
        let lives = |dying: Option<u64>| dying.is_some_and(|dying| minders.values().any(|own| own.number == dying));
        for sweep in &mut self.sweeps {
            sweep.tried += 1;
        }
        let (done, open) =
            self.sweeps.drain(..).partition(|sweep| strays.is_empty() && !lives(sweep.dying) || sweep.tried >= SWEEPS);
        self.sweeps = open;
        let done: Vec<Sweep> = done;
        if done.iter().any(|sweep| sweep.tried >= SWEEPS) {
            self.given_up.extend(strays);
        }
        for answer in done.into_iter().filter_map(|sweep| sweep.answer) {
            // Others may hold it, too.
            let _ = shutdown(&answer, Shutdown::Both);
        }
    }

    /// Kills children that are no minders; those that there are, and can be killed.
    fn kill_strays(&mut self) -> Vec<i32> {
        let mut strays = Vec::new();
        descent::children(None, &mut |pid| {
            if !self.minders.contains_key(&pid) && !self.given_up.contains(&pid) {
                strays.push(pid);
            }
        });
        for &pid in &strays {
            kill(pid, Signal::STOP);
        }
        strays.retain(|&pid| kill(pid, Signal::KILL) != Killed::NotAllowed || !self.given_up.insert(pid));
        strays
    }

    /// Ends everything.
    fn end(&mut self) {
        for &pid in self.minders.keys() {
            kill(pid, Signal::KILL);
        }
        for _ in 0..SWEEPS {
            self.reap();
            if self.kill_strays().is_empty() && self.minders.is_empty() {
                return;
            }
            sleep(SWEEP_AGAIN);
        }
    }
}

/// Whether somebody asks for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Something,
    NothingAnyMore,
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

/// What came of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Killed {
    Perhaps,
    NotAllowed,
}

/// To a child that was not reaped: the number is still its own.
fn kill(pid: i32, signal: Signal) -> Killed {
    match Pid::from_raw(pid).map(|pid| kill_process(pid, signal)) {
        Some(Err(Errno::PERM)) => Killed::NotAllowed,
        _ => Killed::Perhaps,
    }
}
