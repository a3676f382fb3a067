//! News of a call that takes its time.

use std::{fmt, time::Duration};

/// Somebody who wants to know how a call is getting on. Called from the task that makes the call, and
/// must not block it.
pub trait ProgressSink: Send + Sync + fmt::Debug {
    /// Something happened, or time went by.
    fn report(&self, progress: Progress);
}

/// News of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A command is still running.
    Running {
        /// How long it has been.
        elapsed: Duration,
        /// How long it may take.
        timeout: Duration,
    },
}
