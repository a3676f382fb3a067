//! The minders that there are, and nobody else's children: who may be signalled, who is reaped, and
//! what is a stray.
//!
//! Invariant: a process id is in the set from the fork until it is reaped, both under one lock, so
//! that no signal ever goes to an id that was given out again.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::{
    minder::{self, Plan, descent},
    setting::Children,
};

/// How often strays are killed again.
const SWEEP_AGAIN: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub(crate) struct Minders {
    alive: Mutex<BTreeSet<i32>>,
    children: Children,
}

impl Minders {
    pub(crate) fn new(children: Children) -> Self {
        Self { alive: Mutex::default(), children }
    }

    fn alive(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.alive.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts one.
    pub(crate) fn start(&self, plan: Plan<'_>) -> Result<Pid, rustix::io::Errno> {
        let mut alive = self.alive();
        let pid = minder::start(plan)?;
        alive.insert(pid.as_raw_pid());
        Ok(pid)
    }

    /// Signals one that still is.
    pub(crate) fn signal(&self, pid: Pid, signal: Signal) {
        let alive = self.alive();
        if alive.contains(&pid.as_raw_pid()) {
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits for one that is about to end.
    pub(crate) async fn reap(&self, pid: Pid) {
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

    /// Reaps all children that have ended, and lets minders go on that a command has stopped. For a
    /// process that has no children but commands'.
    pub(crate) fn reap_all(&self) {
        if self.children == Children::CommandsOnly {
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

    /// Kills and reaps what dead minders have left, until nothing is left of it. Gives up on what
    /// cannot be killed.
    pub(crate) async fn sweep(&self) {
        if self.children == Children::OthersToo {
            return;
        }
        for _ in 0..1000 {
            self.reap_all();
            if self.kill_strays() == 0 {
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
