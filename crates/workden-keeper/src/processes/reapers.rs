//! The reapers of this process: which ids may be signalled, which are reaped, and which children are strays.
//!
//! Invariant: a process id is in the set from the fork until it is reaped, both under one lock, so that a signal
//! never reaches a process that reuses an id.

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

use super::mark::CommandMark;
use crate::{
    config::{Children, KeeperConfig},
    reaper::{self, Reporting, SpawnPlan, Terminal, descendants, marked},
    sys::{BorrowedStack, ExecImage, ExecProgram},
};

/// The most descendants that one scan of a reaper finds; the next scan finds more.
const ROOM: usize = 32 * 1024;
/// The interval at which strays are killed again, and the number of attempts.
const SWEEP_AGAIN: Duration = Duration::from_millis(2);
const SWEEPS: u32 = 1000;

/// A command for a reaper to start.
pub(crate) struct ReaperStart<'a> {
    pub(crate) program: ExecProgram,
    pub(crate) directory: &'a CStr,
    pub(crate) streams: [BorrowedFd<'a>; 3],
    pub(crate) terminal: Terminal,
    pub(crate) mark: Option<&'a CommandMark>,
}

/// The reapers that this process has forked and not reaped.
#[derive(Debug)]
pub(crate) struct Reapers {
    config: Arc<KeeperConfig>,
    alive: Mutex<BTreeSet<i32>>,
    /// Scratch space for reapers. Each gets its own copy by the fork; the original stays unused.
    room: Mutex<Vec<i32>>,
    stack: Mutex<BorrowedStack>,
}

impl Reapers {
    pub(crate) fn new(config: Arc<KeeperConfig>) -> Self {
        Self {
            config,
            alive: Mutex::default(),
            room: Mutex::new(vec![0; ROOM]),
            stack: Mutex::new(BorrowedStack::new()),
        }
    }

    fn alive(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forks a reaper that starts a command. Returns our end of its link, and its id.
    pub(crate) fn start(&self, start: ReaperStart<'_>) -> Result<(OwnedFd, Pid), Errno> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let mut alive = self.alive();
        let plan = SpawnPlan {
            link: theirs.as_fd(),
            streams: start.streams,
            terminal: start.terminal,
            image: ExecImage::new(start.program),
            directory: start.directory,
            rlimits: &self.config.rlimits,
            join: &self.config.join,
            filter: &self.config.last_filter,
            domain: self.config.domain.as_ref().map(AsFd::as_fd),
            oom_preference: self.config.oom_preference,
            mark: start.mark.map(|mark| mark.variable().as_bytes()),
            reporting: Reporting::StartAndEnd,
            stack: Some(&mut self.stack.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        let pid = reaper::start(plan, &mut self.room.lock().unwrap_or_else(PoisonError::into_inner))?;
        alive.insert(pid.as_raw_pid());
        Ok((ours, pid))
    }

    /// Signals a reaper that is not reaped yet.
    pub(crate) fn signal(&self, reaper: Pid, signal: Signal) {
        let alive = self.alive();
        if alive.contains(&reaper.as_raw_pid()) {
            let _ = kill_process(reaper, signal);
        }
    }

    /// Waits for a reaper that is about to end, and reaps it.
    pub(crate) async fn reap(&self, reaper: Pid) {
        let mut pause = Duration::from_micros(100);
        loop {
            {
                let mut alive = self.alive();
                let ended = || !matches!(waitpid(Some(reaper), WaitOptions::NOHANG), Ok(None));
                if !alive.contains(&reaper.as_raw_pid()) || ended() {
                    alive.remove(&reaper.as_raw_pid());
                    return;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    /// Reaps all children that have ended, and continues reapers that a command has stopped. Does nothing in a
    /// process that has children of its own.
    pub(crate) fn reap_all(&self) {
        if self.config.children == Children::CommandsOnly {
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

    /// Kills and reaps the strays that dead reapers have left. Gives up on processes that cannot be killed.
    pub(crate) async fn sweep(&self) {
        if self.config.children == Children::CommandsOnly {
            self.kill_repeatedly(None, || self.kill_strays()).await;
        }
    }

    /// Kills and reaps what a reaper has left that was just killed, and waits for its own end.
    pub(crate) async fn sweep_after(&self, dying: Pid, mark: Option<&CommandMark>) {
        match (mark, self.config.children) {
            // Strays may be of other commands here.
            (Some(mark), _) => {
                let mut room = vec![0; ROOM];
                let mark = mark.variable().as_bytes();
                let signals = [Signal::STOP, Signal::KILL];
                self.kill_repeatedly(None, || marked::signal_all(mark, None, &mut room, &signals)).await;
                self.reap(dying).await;
            }
            (None, Children::CommandsOnly) => self.kill_repeatedly(Some(dying), || self.kill_strays()).await,
            (None, Children::OthersToo) => self.reap(dying).await,
        }
    }

    /// Kills until nothing is left to kill and a dying reaper is reaped.
    async fn kill_repeatedly(&self, dying: Option<Pid>, mut kill: impl FnMut() -> usize) {
        for _ in 0..SWEEPS {
            self.reap_all();
            let lives = dying.is_some_and(|reaper| self.alive().contains(&reaper.as_raw_pid()));
            // Also while the reaper lives: a stray that traces it keeps it from ending.
            if kill() == 0 && !lives {
                return;
            }
            tokio::time::sleep(SWEEP_AGAIN).await;
        }
        tracing::warn!("processes that cannot be killed are left behind");
    }

    fn kill_strays(&self) -> usize {
        let alive = self.alive();
        let mut strays = Vec::new();
        descendants::children(None, &mut |pid| strays.extend((!alive.contains(&pid)).then_some(pid)));
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in strays.iter().filter_map(|&pid| Pid::from_raw(pid)) {
                let _ = kill_process(pid, signal);
            }
        }
        strays.len()
    }
}
