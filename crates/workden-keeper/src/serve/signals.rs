//! The signals of a keeper: ended children, and the request to end.
//!
//! Invariant: a command cannot end its keeper. PID 1 of a namespace receives only the signals that it handles, and of
//! these it obeys those from outside.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{io::Errno, process::getpid};
use tokio::{
    io::unix::AsyncFd,
    signal::unix::{Signal, SignalKind, signal},
};
use workden_core::{Error, ErrorKind, Result};

use crate::{keeper::Keeper, sys};

pub(super) struct Signals {
    children: Signal,
    ending: EndSignals,
}

/// How a keeper learns that it has to end.
enum EndSignals {
    /// Signals with their sender, which is 0 for a process outside of our PID namespace.
    FromOutside(AsyncFd<OwnedFd>),
    /// Signals of any process. An interrupt is meant for the foreground of a terminal, which the owner is and the
    /// keeper is not.
    FromAnyProcess { terminate: Signal, hang_up: Signal, interrupt: Signal },
}

impl Signals {
    /// Must be called before there are other threads.
    pub(super) fn new() -> Result<Self> {
        let failed = || Error::new(ErrorKind::Io, "cannot watch the signals of the keeper");
        let listen = |kind| signal(kind).map_err(|_| failed());
        let ending = if getpid().is_init() {
            let signals = sys::ending_signals().map_err(|_| failed())?;
            EndSignals::FromOutside(sys::watched(signals).map_err(|_| failed())?)
        } else {
            EndSignals::FromAnyProcess {
                terminate: listen(SignalKind::terminate())?,
                hang_up: listen(SignalKind::hangup())?,
                interrupt: listen(SignalKind::interrupt())?,
            }
        };
        Ok(Self { children: listen(SignalKind::child())?, ending })
    }

    pub(super) async fn told_to_end(&mut self) {
        self.ending.told().await;
    }

    pub(super) async fn reap_until_told_to_end(&mut self, keeper: &Keeper) {
        loop {
            tokio::select! {
                () = self.ending.told() => return,
                _ = self.children.recv() => keeper.reap(),
            }
        }
    }
}

impl EndSignals {
    async fn told(&mut self) {
        match self {
            Self::FromOutside(signals) => told_from_outside(signals).await,
            Self::FromAnyProcess { terminate, hang_up, interrupt } => loop {
                tokio::select! {
                    _ = terminate.recv() => return,
                    _ = hang_up.recv() => return,
                    _ = interrupt.recv() => {}
                }
            },
        }
    }
}

async fn told_from_outside(signals: &AsyncFd<OwnedFd>) {
    loop {
        let Ok(mut ready) = signals.readable().await else { return };
        let mut signal = sys::SIGNAL_RECORD;
        match rustix::io::read(signals.as_fd(), &mut signal) {
            Ok(_) if sys::is_from_outside(&signal) => return,
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => ready.clear_ready(),
        }
    }
}
