//! `Tree`: a command with all that it started, seen from the keeper through its minder.
//!
//! Invariant: a tree is gone only when nothing of it is left: its minder has said so, or is dead and
//! what it left was swept.

use std::{
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::SendFlags,
    process::Signal,
};
use tokio::{io::unix::AsyncFd, sync::watch, time::timeout};
use workden_core::{limits, sandbox::Ended};

use super::{
    minders::{MinderId, Minders, hang_up},
    pipes::{self, READ_BYTES},
};
use crate::{
    minder::message::{Order, REPORT_BYTES, Report, Stage},
    sys,
};

/// How long a minder may take, besides the time that its tree has to end by itself.
const MINDER_TIME: Duration = Duration::from_secs(2);

/// A command with all that it started.
#[derive(Debug)]
pub(crate) struct Tree {
    link: Arc<OwnedFd>,
    /// What has come of a report.
    half: Mutex<([u8; REPORT_BYTES], usize)>,
    minder: MinderId,
    /// Whether its minder could mind something else afterwards.
    minder_is: Mutex<MinderIs>,
    minders: Arc<dyn Minders>,
    state: watch::Sender<TreeState>,
}

/// What a minder can be used for when it has said its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum MinderIs {
    /// Busy.
    #[default]
    Minding,
    /// Ready for something else.
    Done,
    /// Nothing: an order to it may be under way.
    Ordered,
}

/// What is known about a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TreeState {
    /// The command's process.
    pub(crate) pid: Option<u32>,
    /// Why there is no command.
    pub(crate) failed: Option<(Stage, Errno)>,
    /// How the command itself ended.
    pub(crate) ended: Option<Ended>,
    /// Nothing is left.
    pub(crate) gone: bool,
}

/// Whether more reports can come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    AllSoFar,
    TheLast,
}

/// How to end a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// `TERM`, and `KILL` to what is left after a while.
    Softly,
    /// `KILL`.
    AtOnce,
}

impl Tree {
    /// The tree of a minder that was just started. Somebody must [follow](Self::follow) it or
    /// [attend](Self::attend) to it.
    pub(crate) fn new(link: OwnedFd, minder: MinderId, minders: Arc<dyn Minders>) -> Arc<Self> {
        let (half, minder_is, state) = (Mutex::default(), Mutex::default(), watch::Sender::default());
        Arc::new(Self { link: Arc::new(link), half, minder, minder_is, minders, state })
    }

    /// Has it followed until nothing is left of it.
    pub(crate) fn follow(self: &Arc<Self>) -> std::io::Result<()> {
        let link = sys::watched_by_both(Arc::clone(&self.link))?;
        let followed = Arc::clone(self);
        tokio::spawn(async move { followed.listen(link).await });
        Ok(())
    }

    /// Watches it with this thread, and nobody else, until the command itself has ended or this long; takes what
    /// is printed meanwhile.
    pub(crate) fn attend(&self, output: &OwnedFd, most: Duration, mut printed: impl FnMut(&[u8])) {
        let until = Instant::now() + most;
        let (mut buffer, mut open) = (Vec::new(), true);
        while self.state().ended.is_none() && !self.state().gone {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let mut watched = [PollFd::new(&*self.link, PollFlags::IN), PollFd::new(output, PollFlags::IN)];
            let watched = if open { &mut watched[..] } else { &mut watched[..1] };
            let _ = poll(watched, Timespec::try_from(left).ok().as_ref());
            let said = !watched[0].revents().is_empty();
            if watched.get(1).is_some_and(|output| !output.revents().is_empty()) {
                buffer.clear();
                match pipes::read_into(output, &mut buffer, READ_BYTES) {
                    Ok(1..) => printed(&buffer),
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    // Closed by a command that goes on, or nearly has ended.
                    Ok(0) | Err(_) => open = false,
                }
            }
            if said && self.hear() == Heard::TheLast {
                return;
            }
        }
    }

    /// Whether all is done that is to be done about it.
    pub(crate) fn is_over(&self) -> bool {
        self.state().gone && !self.minders.are_children()
    }

    async fn listen(&self, link: AsyncFd<Arc<OwnedFd>>) {
        while self.hear() == Heard::AllSoFar {
            match link.readable().await {
                // Only until there is more: it was read to the end before, or will be now.
                Ok(mut ready) => {
                    if self.hear() == Heard::TheLast {
                        break;
                    }
                    ready.clear_ready();
                }
                Err(_) => break,
            }
        }
        if self.state().gone {
            // Its minder is on its way, and nobody has to wait for that.
            self.minders.reaped(self.minder).await;
        } else {
            // Somebody killed the minder.
            self.minders.kill(self.minder);
            self.minders.swept(Some(self.minder)).await;
            self.state.send_modify(|state| {
                state.ended = state.ended.or(Some(Ended::Signalled(Signal::KILL.as_raw())));
                state.gone = true;
            });
        }
    }

    /// Takes all reports that have come.
    fn hear(&self) -> Heard {
        let mut half = self.half.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, filled) = &mut *half;
        while !self.state().gone {
            match rustix::io::read(&self.link, &mut bytes[*filled..]) {
                Ok(0) => return Heard::TheLast,
                Ok(read) => *filled += read,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Heard::AllSoFar,
                // The other end is closed, and what was sent there not read: without orders that is the command.
                Err(Errno::CONNRESET) if *self.minder_is() == MinderIs::Minding => {
                    self.note(Report::Failed(Stage::Fork, Errno::CONNRESET));
                    return Heard::TheLast;
                }
                Err(_) => return Heard::TheLast,
            }
            if *filled == REPORT_BYTES {
                *filled = 0;
                match Report::decode(*bytes) {
                    Some(report) => self.note(report),
                    None => return Heard::TheLast,
                }
            }
        }
        Heard::TheLast
    }

    fn note(&self, report: Report) {
        if let Report::EndedWhole(_) = report {
            let mut minder_is = self.minder_is();
            if *minder_is == MinderIs::Minding {
                *minder_is = MinderIs::Done;
            }
        }
        self.state.send_modify(|state| match report {
            Report::Started(pid) => state.pid = u32::try_from(pid).ok(),
            Report::Failed(stage, why) => state.failed = Some((stage, why)),
            Report::Ended(status) => state.ended = Some(ended(status)),
            Report::EndedWhole(status) => (state.ended, state.gone) = (Some(ended(status)), true),
            Report::Empty => state.gone = true,
        });
    }

    /// What is known now.
    pub(crate) fn state(&self) -> TreeState {
        *self.state.borrow()
    }

    /// Waits until the command's process is there, or never will be.
    pub(crate) async fn started(&self) -> TreeState {
        self.wait(|state| state.pid.is_some() || state.gone).await
    }

    /// Waits until the command itself has ended, whatever it left.
    pub(crate) async fn ended(&self) -> TreeState {
        self.wait(|state| state.ended.is_some() || state.gone).await
    }

    /// Waits until nothing is left.
    pub(crate) async fn gone(&self) {
        self.wait(|state| state.gone).await;
    }

    async fn wait(&self, until: impl FnMut(&TreeState) -> bool) -> TreeState {
        let mut changes = self.state.subscribe();
        // The sender is in `self`, so it is never closed.
        changes.wait_for(until).await.map_or_else(|_| self.state(), |state| *state)
    }

    /// Signals the group of the command.
    pub(crate) fn signal(&self, signal: Signal) {
        self.order(Order::Signal(signal));
    }

    /// Begins to end the tree.
    pub(crate) fn begin_end(&self, how: End) {
        self.order(match how {
            End::Softly => Order::Terminate,
            End::AtOnce => Order::Kill,
        });
        // A command may have stopped its minder.
        self.minders.wake(self.minder);
    }

    /// Ends the tree; returns when nothing is left.
    pub(crate) async fn end(&self, how: End) {
        self.begin_end(how);
        self.finish_end(how).await;
    }

    /// Waits for the end that has begun, and helps where that does not come.
    pub(crate) async fn finish_end(&self, how: End) {
        let grace = match how {
            End::Softly => limits::TERM_TIME,
            End::AtOnce => Duration::ZERO,
        };
        if timeout(grace + MINDER_TIME, self.gone()).await.is_err() {
            // Stopped again, or something that cannot be killed: what it leaves is swept.
            self.minders.kill(self.minder);
            let _ = timeout(MINDER_TIME, self.gone()).await;
        }
    }

    fn minder_is(&self) -> MutexGuard<'_, MinderIs> {
        self.minder_is.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, order: Order) {
        *self.minder_is() = MinderIs::Ordered;
        let _ = rustix::net::send(&self.link, &[order.encode()], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        match *self.minder_is() {
            MinderIs::Done => self.minders.take_back(self.minder, &self.link),
            MinderIs::Minding | MinderIs::Ordered => hang_up(&self.link),
        }
    }
}

/// A status of `wait` in our words.
fn ended(status: i32) -> Ended {
    match status & 0x7f {
        0 => Ended::Exited((status >> 8) & 0xff),
        signal => Ended::Signalled(signal),
    }
}
