//! Background jobs: commands that outlive the call that started them, with output by offset.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::Ended;
use crate::{limits, setters::setters};

/// The id of a job: `bg_1`, `bg_2` and so on, or the id of a command's full log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub String);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for JobId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

/// The current state of a background job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// The id of the job.
    pub id: JobId,
    /// The pid of the started process, as commands in the sandbox see it.
    pub pid: u32,
    /// The command, as a person would type it.
    pub line: String,
    /// Whether the job is running.
    pub state: JobState,
    /// How long the job has been running, or ran.
    pub duration: Duration,
    /// How many bytes the job has printed.
    pub printed: u64,
}

impl Job {
    /// Creates a job that has printed nothing, with a duration of zero.
    #[must_use]
    pub fn new(id: impl Into<JobId>, pid: u32, line: impl Into<String>, state: JobState) -> Self {
        Self { id: id.into(), pid, line: line.into(), state, duration: Duration::ZERO, printed: 0 }
    }

    setters! {
        /// Sets how long the job has been running, or ran.
        duration: Duration,
        /// Sets how many bytes the job has printed.
        printed: u64,
    }
}

/// Whether a job is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// The job is running.
    Running,
    /// The job has ended; its background processes may still run.
    Ended(Ended),
}

/// The part of a job's output to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobRead {
    /// How many bytes to skip: `next` of the previous read.
    pub offset: u64,
    /// How many bytes to read at most.
    pub most: u64,
    /// How long to wait for new output if there is none.
    #[serde(default)]
    pub wait: Duration,
}

impl JobRead {
    /// Creates a request for the output from an offset, up to the default limit, without waiting.
    #[must_use]
    pub fn from(offset: u64) -> Self {
        Self { offset, most: limits::JOB_READ_BYTES, wait: Duration::ZERO }
    }

    setters! {
        /// Sets how many bytes to read at most.
        most: u64,
        /// Sets how long to wait for new output if there is none.
        wait: Duration,
    }
}

/// A part of a job's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobOutput {
    /// The output, with bytes that are not UTF-8 as U+FFFD. An incomplete character is left for the next read.
    pub text: String,
    /// Bytes after the offset that the log no longer holds.
    pub skipped: u64,
    /// The offset at which to continue.
    pub next: u64,
    /// The state of the job after the read.
    pub job: Job,
}

impl JobOutput {
    /// Creates an answer with all output from the offset up to `next`.
    #[must_use]
    pub fn new(text: impl Into<String>, next: u64, job: Job) -> Self {
        Self { text: text.into(), skipped: 0, next, job }
    }

    setters! {
        /// Sets how many bytes after the offset the log no longer holds.
        skipped: u64,
    }
}

/// The result of killing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Killed {
    /// The job or its background processes were running, and are stopped.
    Stopped,
    /// No process of the job was left.
    AlreadyOver,
}
