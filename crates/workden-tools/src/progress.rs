//! Progress of a call that takes a while.

use std::{fmt, time::Duration};

/// Receives the progress of a call. The task of the call reports, so a sink must not block.
pub trait ProgressSink: Send + Sync + fmt::Debug {
    /// Receives one report.
    fn report(&self, progress: Progress);
}

/// A report on a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A command is still running.
    Running {
        /// How long the command has been running.
        elapsed: Duration,
        /// How long the command may take.
        timeout: Duration,
    },
}
