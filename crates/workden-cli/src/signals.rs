//! Signals to us: those that tell us to end, and that the terminal has another size.

use std::io;

use tokio::signal::unix::{Signal as Arriving, SignalKind, signal};
use workden_core::sandbox::Signal;

/// Waits for a signal that tells us to end.
pub(crate) struct ToldToEnd {
    interrupt: Arriving,
    terminate: Arriving,
    hang_up: Arriving,
}

impl ToldToEnd {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The signal, and its number.
    pub(crate) async fn next(&mut self) -> (Signal, i32) {
        tokio::select! {
            _ = self.interrupt.recv() => (Signal::Int, SignalKind::interrupt().as_raw_value()),
            _ = self.terminate.recv() => (Signal::Term, SignalKind::terminate().as_raw_value()),
            _ = self.hang_up.recv() => (Signal::Hup, SignalKind::hangup().as_raw_value()),
        }
    }
}

/// Waits for other sizes of the terminal.
pub(crate) fn resized() -> io::Result<Arriving> {
    signal(SignalKind::window_change())
}
