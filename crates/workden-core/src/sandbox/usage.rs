//! What a sandbox uses at the moment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::setters::setters;

/// What a sandbox uses at the moment. `None` where it is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes of memory, those of all commands together.
    pub memory: Option<u64>,
    /// The most that it has been.
    pub memory_peak: Option<u64>,
    /// Processor time of all commands so far.
    pub cpu: Option<Duration>,
    /// Processes, the keeper's own not counted.
    pub processes: Option<u64>,
    /// How long the sandbox has been there.
    pub age: Duration,
    /// How long ago the last request was.
    pub idle: Duration,
    /// Background jobs that run.
    pub jobs: u64,
}

impl Usage {
    setters! {
        /// Sets the bytes of memory of all commands together.
        memory: impl Into<Option<u64>>,
        /// Sets the highest number of bytes of memory so far.
        memory_peak: impl Into<Option<u64>>,
        /// Sets the processor time of all commands so far.
        cpu: impl Into<Option<Duration>>,
        /// Sets how many processes there are, the keeper's own not counted.
        processes: impl Into<Option<u64>>,
        /// Sets how long the sandbox has been there.
        age: Duration,
        /// Sets how long ago the last request was.
        idle: Duration,
        /// Sets how many background jobs run.
        jobs: u64,
    }
}
