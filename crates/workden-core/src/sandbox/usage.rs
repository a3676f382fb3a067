//! The current resource usage of a sandbox.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::setters::setters;

/// The current resource usage of a sandbox. `None` for values that are not measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes of memory of all commands together.
    pub memory: Option<u64>,
    /// The highest memory usage so far.
    pub memory_peak: Option<u64>,
    /// Processor time of all commands so far.
    pub cpu: Option<Duration>,
    /// Processes, without the keeper's own.
    pub processes: Option<u64>,
    /// The time since the sandbox started.
    pub age: Duration,
    /// The time since the last request.
    pub idle: Duration,
    /// Running background jobs.
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
        /// Sets the number of processes, without the keeper's own.
        processes: impl Into<Option<u64>>,
        /// Sets the time since the sandbox started.
        age: Duration,
        /// Sets the time since the last request.
        idle: Duration,
        /// Sets the number of running background jobs.
        jobs: u64,
    }
}
