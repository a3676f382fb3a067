//! Signals to this process: those that end it, and changes of the terminal's size.

use std::io;

use tokio::signal::unix::{Signal as Arriving, SignalKind, signal};
use workden_core::sandbox::Signal;

/// Waits for a signal that ends this process.
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

    /// Returns the next signal and its number.
    pub(crate) async fn next(&mut self) -> (Signal, i32) {
        tokio::select! {
            _ = self.interrupt.recv() => (Signal::Int, SignalKind::interrupt().as_raw_value()),
            _ = self.terminate.recv() => (Signal::Term, SignalKind::terminate().as_raw_value()),
            _ = self.hang_up.recv() => (Signal::Hup, SignalKind::hangup().as_raw_value()),
        }
    }
}

/// Listens for changes of the terminal's size.
pub(crate) fn resized() -> io::Result<Arriving> {
    signal(SignalKind::window_change())
}
