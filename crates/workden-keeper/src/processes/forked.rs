//! Minders that this process forks: who may be signalled, who is reaped, and what is a stray.
//!
//! Invariant: a process id is in the set from the fork until it is reaped, both under one lock, so
//! that no signal ever goes to an id that was given out again.

use std::{
    collections::BTreeSet,
    os::fd::{AsFd, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, kill_process, waitpid},
};

use super::{
    ROOM,
    minders::{MinderId, Minders, Start, link},
};
use crate::{
    minder::{self, Plan, descent},
    setting::{Children, Setting},
    sys::{BorrowedStack, Image},
};

/// How often strays are killed again.
const SWEEP_AGAIN: Duration = Duration::from_millis(2);

/// Minders that this process forks.
#[derive(Debug)]
pub(crate) struct Forked {
    setting: Arc<Setting>,
    alive: Mutex<BTreeSet<i32>>,
    /// For minders: each has its own copy from its fork, and nobody touches this one.
    room: Mutex<Vec<i32>>,
    stack: Mutex<BorrowedStack>,
}

impl Forked {
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

    /// Signals one that still is.
    fn signal(&self, minder: MinderId, signal: Signal) {
        let alive = self.alive();
        if let Some(pid) = pid(minder).filter(|pid| alive.contains(&pid.as_raw_pid())) {
            let _ = kill_process(pid, signal);
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

#[async_trait]
impl Minders for Forked {
    fn start(&self, start: Start<'_>) -> Result<(OwnedFd, MinderId), Errno> {
        let (ours, theirs) = link()?;
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
        Ok((ours, MinderId(u64::from(pid.as_raw_pid().unsigned_abs()))))
    }

    fn wake(&self, minder: MinderId) {
        self.signal(minder, Signal::CONT);
    }

    fn kill(&self, minder: MinderId) {
        self.signal(minder, Signal::KILL);
    }

    fn are_children(&self) -> bool {
        true
    }

    async fn reaped(&self, minder: MinderId) {
        let Some(pid) = pid(minder) else { return };
        let mut pause = Duration::from_micros(100);
        loop {
            {
                let mut alive = self.alive();
                let ended = || !matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(None));
                if !alive.contains(&pid.as_raw_pid()) || ended() {
                    alive.remove(&pid.as_raw_pid());
                    return;
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(50));
        }
    }

    async fn swept(&self, dying: Option<MinderId>) {
        let lives = || dying.and_then(pid).is_some_and(|pid| self.alive().contains(&pid.as_raw_pid()));
        if self.setting.children == Children::OthersToo {
            if let Some(minder) = dying {
                self.reaped(minder).await;
            }
            return;
        }
        for _ in 0..1000 {
            self.reap_all();
            let lived = lives();
            // Also while it lives: who traces it keeps it from its end.
            if self.kill_strays() == 0 && !lived {
                return;
            }
            tokio::time::sleep(SWEEP_AGAIN).await;
        }
    }

    /// Lets minders go on, too, that a command has stopped.
    fn reap_all(&self) {
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

    /// They end with their command.
    fn take_back(&self, _minder: MinderId, _link: &OwnedFd) {}

    /// Links close with this process, and minders kill then.
    fn let_go(&self) {}
}

fn pid(MinderId(number): MinderId) -> Option<Pid> {
    Pid::from_raw(i32::try_from(number).ok()?)
}
