//! `ProcessTree`: a command with all its descendants, seen from the keeper through its reaper.
//!
//! Invariant: a tree is gone only when no process of it is left: its reaper reported that, or is dead and its
//! children were swept.

use std::{os::fd::OwnedFd, sync::Arc, time::Duration};

use rustix::{
    io::Errno,
    net::SendFlags,
    process::{Pid, Signal},
};
use tokio::{io::unix::AsyncFd, sync::watch, time::timeout};
use workden_core::{limits, sandbox::Ended};

use super::{mark::CommandMark, reapers::Reapers, starting::Starting};
use crate::{
    reaper::message::{REPORT_BYTES, ReaperOrder, ReaperReport, StartStage},
    sys,
};

/// The time that a reaper gets beyond the grace period of its tree.
const REAPER_TIME: Duration = Duration::from_secs(2);

/// A command with all its descendants.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    link: AsyncFd<OwnedFd>,
    reaper: Pid,
    mark: Option<CommandMark>,
    reapers: Arc<Reapers>,
    state: watch::Sender<TreeState>,
}

/// The state of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TreeState {
    /// The process id of the command.
    pub(crate) pid: Option<u32>,
    /// Why the command did not start.
    pub(crate) failed: Option<(StartStage, Errno)>,
    /// How the command itself ended.
    pub(crate) ended: Option<Ended>,
    /// No process is left.
    pub(crate) gone: bool,
}

/// How to end a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndMode {
    /// `TERM`, and `KILL` after a grace period.
    Graceful,
    /// `KILL`.
    Immediate,
}

impl ProcessTree {
    /// Follows the tree of a reaper that was just started, until no process is left.
    pub(crate) fn follow(
        link: OwnedFd,
        reaper: Pid,
        mark: Option<CommandMark>,
        reapers: Arc<Reapers>,
        starting: Starting,
    ) -> std::io::Result<Arc<Self>> {
        let tree = Arc::new(Self { link: sys::watched(link)?, reaper, mark, reapers, state: watch::Sender::default() });
        let followed = Arc::clone(&tree);
        tokio::spawn(async move { followed.listen(starting).await });
        Ok(tree)
    }

    async fn listen(&self, starting: Starting) {
        let mut starting = Some(starting);
        while let Some(report) = self.next_report().await {
            // Every process of the tree has closed the descriptors of this process before its first report.
            starting.take();
            self.state.send_modify(|state| match report {
                ReaperReport::Started(pid) => state.pid = u32::try_from(pid).ok(),
                ReaperReport::Failed(stage, why) => state.failed = Some((stage, why)),
                ReaperReport::Ended(status) => state.ended = Some(ended(status)),
                ReaperReport::EndedWhole(status) => (state.ended, state.gone) = (Some(ended(status)), true),
                ReaperReport::Empty => state.gone = true,
            });
            if self.state().gone {
                tracing::debug!(reaper = self.reaper.as_raw_pid(), "command and its processes ended");
                // The reaper exits now. Callers do not wait for that.
                return self.reapers.reap(self.reaper).await;
            }
        }
        // The link closed without a last report: a command has killed the reaper, and file calls need not wait for it.
        drop(starting);
        tracing::warn!(reaper = self.reaper.as_raw_pid(), "reaper was killed: its processes are swept");
        self.reapers.signal(self.reaper, Signal::KILL);
        self.reapers.sweep_after(self.reaper, self.mark.as_ref()).await;
        self.state.send_modify(|state| {
            state.ended = state.ended.or(Some(Ended::Signalled(Signal::KILL.as_raw())));
            state.gone = true;
        });
    }

    async fn next_report(&self) -> Option<ReaperReport> {
        let mut bytes = [0; REPORT_BYTES];
        let mut filled = 0;
        while filled < REPORT_BYTES {
            let mut ready = self.link.readable().await.ok()?;
            match ready.try_io(|link| Ok(rustix::io::read(link, &mut bytes[filled..])?)) {
                Ok(Ok(0)) => return None,
                Ok(Ok(read)) => filled += read,
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(Err(_)) => return None,
                Err(_not_ready) => {}
            }
        }
        ReaperReport::decode(bytes)
    }

    /// Returns the current state.
    pub(crate) fn state(&self) -> TreeState {
        *self.state.borrow()
    }

    /// Returns the process from which all others of the tree descend.
    pub(crate) fn reaper_pid(&self) -> i32 {
        self.reaper.as_raw_pid()
    }

    /// Waits until the command's process exists, or cannot start.
    pub(crate) async fn started(&self) -> TreeState {
        self.wait(|state| state.pid.is_some() || state.gone).await
    }

    /// Waits until the command itself has ended, whatever processes it left.
    pub(crate) async fn ended(&self) -> TreeState {
        self.wait(|state| state.ended.is_some() || state.gone).await
    }

    /// Waits until no process is left.
    pub(crate) async fn gone(&self) {
        self.wait(|state| state.gone).await;
    }

    async fn wait(&self, until: impl FnMut(&TreeState) -> bool) -> TreeState {
        let mut changes = self.state.subscribe();
        // The sender is in `self`, so it is never closed.
        changes.wait_for(until).await.map_or_else(|_| self.state(), |state| *state)
    }

    /// Signals the process group of the command.
    pub(crate) fn signal(&self, signal: Signal) {
        self.order(ReaperOrder::Signal(signal));
    }

    /// Starts ending the tree.
    pub(crate) fn start_end(&self, how: EndMode) {
        self.order(match how {
            EndMode::Graceful => ReaperOrder::Terminate,
            EndMode::Immediate => ReaperOrder::Kill,
        });
        // A command may have stopped its reaper.
        self.reapers.signal(self.reaper, Signal::CONT);
    }

    /// Ends the tree. Returns when no process is left.
    pub(crate) async fn end(&self, how: EndMode) {
        self.start_end(how);
        self.finish_end(how).await;
    }

    /// Waits for an end that was started. Kills a reaper that does not follow its order.
    pub(crate) async fn finish_end(&self, how: EndMode) {
        let grace = match how {
            EndMode::Graceful => limits::TERM_TIME,
            EndMode::Immediate => Duration::ZERO,
        };
        if timeout(grace + REAPER_TIME, self.gone()).await.is_err() {
            tracing::warn!(reaper = self.reaper.as_raw_pid(), "reaper did not end its processes in time: killed");
            // The reaper was stopped again, or waits for a process that cannot be killed: its children are swept.
            self.reapers.signal(self.reaper, Signal::KILL);
            let _ = timeout(REAPER_TIME, self.gone()).await;
        }
    }

    fn order(&self, order: ReaperOrder) {
        let _ = rustix::net::send(&self.link, &[order.encode()], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

/// Converts a `wait` status.
fn ended(status: i32) -> Ended {
    match status & 0x7f {
        0 => Ended::Exited((status >> 8) & 0xff),
        signal => Ended::Signalled(signal),
    }
}
