//! The minders of this process: which ids may be signalled, which are reaped, and which children are strays.
//!
//! Invariant: a process id is in the set from the fork until it is reaped, both under one lock, so
//! that no signal ever goes to an id that was given out again.

use std::{
    collections::BTreeSet,
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType, socketpair},
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
};

use crate::{
    minder::{self, Plan, Tells, Terminal, descent},
    setting::{Children, Setting},
    sys::{BorrowedStack, Image, Program},
};

/// Ids of descendants that one scan of a minder takes; more are taken by the next.
const ROOM: usize = 32 * 1024;
/// How often strays are killed again, and how many times before they are given up.
const SWEEP_AGAIN: Duration = Duration::from_millis(2);
const SWEEPS: u32 = 1000;

/// A command for a minder to start.
pub(crate) struct Start<'a> {
    pub(crate) program: Program,
    pub(crate) directory: &'a CStr,
    pub(crate) streams: [BorrowedFd<'a>; 3],
    pub(crate) terminal: Terminal,
    pub(crate) tells: Tells,
}

/// The minders that this process has forked and not reaped.
#[derive(Debug)]
pub(crate) struct Minders {
    setting: Arc<Setting>,
    alive: Mutex<BTreeSet<i32>>,
    /// Scratch space for minders. Each gets its own copy by the fork; the original stays unused.
    room: Mutex<Vec<i32>>,
    stack: Mutex<BorrowedStack>,
}

impl Minders {
    pub(crate) fn new(setting: Arc<Setting>) -> Self {
        Self {
            setting,
            alive: Mutex::default(),
            room: Mutex::new(vec![0; ROOM]),
            stack: Mutex::new(BorrowedStack::new()),
        }
    }

    fn alive(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forks a minder that starts a command. Returns our end of its link, and its id.
    pub(crate) fn start(&self, start: Start<'_>) -> Result<(OwnedFd, Pid), Errno> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let mut alive = self.alive();
        let plan = Plan {
            link: theirs.as_fd(),
            streams: start.streams,
            terminal: start.terminal,
            image: Image::new(start.program),
            directory: start.directory,
            rlimits: &self.setting.rlimits,
            join: &self.setting.join,
            filter: &self.setting.last_filter,
            domain: self.setting.domain.as_ref().map(AsFd::as_fd),
            memory_runs_out: self.setting.memory_runs_out,
            tells: start.tells,
            stack: Some(&mut self.stack.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        let pid = minder::start(plan, &mut self.room.lock().unwrap_or_else(PoisonError::into_inner))?;
        alive.insert(pid.as_raw_pid());
        Ok((ours, pid))
    }

    /// Signals a minder that is not reaped yet.
    pub(crate) fn signal(&self, minder: Pid, signal: Signal) {
        let alive = self.alive();
        if alive.contains(&minder.as_raw_pid()) {
            let _ = kill_process(minder, signal);
        }
    }

    /// Waits for a minder that is about to end, and reaps it.
    pub(crate) async fn reap(&self, minder: Pid) {
        let mut pause = Duration::from_micros(100);
        loop {
            {
                let mut alive = self.alive();
                let ended = || !matches!(waitpid(Some(minder), WaitOptions::NOHANG), Ok(None));
                if !alive.contains(&minder.as_raw_pid()) || ended() {
                    alive.remove(&minder.as_raw_pid());
                    return;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Reaps all children that have ended, and continues minders that a command has stopped. Does nothing in a
    /// process that has children of its own.
    pub(crate) fn reap_all(&self) {
        if self.setting.children == Children::CommandsOnly {
            let mut alive = self.alive();
            while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                if !status.stopped() {
                    alive.remove(&pid.as_raw_pid());
                } else if alive.contains(&pid.as_raw_pid()) {
                    let _ = kill_process(pid, Signal::CONT);
                }
            }
        }
    }

    /// Kills and reaps the strays that dead minders have left. With `dying`, also waits for the end of that minder,
    /// which was just killed. Gives up on processes that cannot be killed.
    pub(crate) async fn sweep(&self, dying: Option<Pid>) {
        if self.setting.children == Children::OthersToo {
            if let Some(minder) = dying {
                self.reap(minder).await;
            }
            return;
        }
        for _ in 0..SWEEPS {
            self.reap_all();
            let lives = dying.is_some_and(|minder| self.alive().contains(&minder.as_raw_pid()));
            // Also while the minder lives: a stray that traces it keeps it from ending.
            if self.kill_strays() == 0 && !lives {
                return;
            }
            tokio::time::sleep(SWEEP_AGAIN).await;
        }
    }

    fn kill_strays(&self) -> usize {
        let alive = self.alive();
        let mut strays = Vec::new();
        descent::children(None, &mut |pid| strays.extend((!alive.contains(&pid)).then_some(pid)));
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in strays.iter().filter_map(|&pid| Pid::from_raw(pid)) {
                let _ = kill_process(pid, signal);
            }
        }
        strays.len()
    }
}
