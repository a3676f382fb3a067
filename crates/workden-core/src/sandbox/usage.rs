//! What a sandbox uses at the moment.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a sandbox uses at the moment. `None` where it is not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
