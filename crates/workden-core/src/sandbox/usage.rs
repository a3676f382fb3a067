//! The current resource usage of a sandbox.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Job;
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
    /// The commands that [`execute`](super::Sandbox::execute) runs now, oldest first, if the sandbox knows them.
    /// [`read_job`](super::Sandbox::read_job) returns what such a command has printed so far, and
    /// [`kill_job`](super::Sandbox::kill_job) stops it; once it has ended it is not found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Job>,
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
        /// Sets the commands that `execute` runs now.
        commands: Vec<Job>,
    }
}
