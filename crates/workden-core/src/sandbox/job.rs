//! Background jobs: commands that outlive the call that started them, with output by offset.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use super::Ended;
use crate::{limits, setters::setters};

/// What a job is called: `bg_1`, `bg_2` and so on, or the id of a command's full log.
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

/// A background job as it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// What to call it.
    pub id: JobId,
    /// The process that was started, as commands in the sandbox see it.
    pub pid: u32,
    /// What it runs, as a person would type it.
    pub line: String,
    /// Whether it runs.
    pub state: JobState,
    /// How long it has been running, or ran.
    pub duration: Duration,
    /// Bytes that it has printed.
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
        /// Sets how many bytes it has printed.
        printed: u64,
    }
}

/// Whether a job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It does.
    Running,
    /// No more; something that it started may.
    Ended(Ended),
}

/// Which part of a job's output to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobRead {
    /// How many bytes to skip: what `next` said the last time.
    pub offset: u64,
    /// How many bytes to take at most.
    pub most: u64,
    /// How long to wait for something new when there is nothing yet.
    #[serde(default)]
    pub wait: Duration,
}

impl JobRead {
    /// Creates a request for the output from an offset on, under the usual ceiling, without waiting.
    #[must_use]
    pub fn from(offset: u64) -> Self {
        Self { offset, most: limits::JOB_READ_BYTES, wait: Duration::ZERO }
    }

    setters! {
        /// Sets how many bytes to take at most.
        most: u64,
        /// Sets how long to wait for something new when there is nothing yet.
        wait: Duration,
    }
}

/// Some output of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobOutput {
    /// What it printed, with bytes that are not UTF-8 as U+FFFD. A character that is not complete
    /// yet is left for the next time.
    pub text: String,
    /// Bytes after the offset that the log no longer holds.
    pub skipped: u64,
    /// Where to go on.
    pub next: u64,
    /// The job, after this was read.
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

/// What killing a job has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Killed {
    /// It ran, or something that it started, and does so no more.
    Stopped,
    /// Nothing was left of it.
    AlreadyOver,
}
