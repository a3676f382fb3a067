//! What became of a command: its output within bounds, how it ended, and which limits it hit.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{JobId, LimitName};
use crate::{VirtualPath, setters::setters};

/// What a command that was run to its end has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Executed {
    /// What it printed.
    pub output: Output,
    /// How it ended.
    pub ended: Ended,
    /// How long it took.
    pub duration: Duration,
    /// The limits that it ran into.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits_hit: Vec<LimitHit>,
}

impl Executed {
    /// Creates the answer to a command that ran into no limit.
    #[must_use]
    pub fn new(output: Output, ended: Ended, duration: Duration) -> Self {
        Self { output, ended, duration, limits_hit: Vec::new() }
    }

    setters! {
        /// Sets the limits that the command ran into.
        limits_hit: Vec<LimitHit>,
    }

    /// The exit code as a shell would give it: 124 after a timeout, 128+N after signal N.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        self.ended.exit_code()
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// By us, after its time was over.
    TimedOut,
}

impl Ended {
    /// The exit code as a shell would give it.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::TimedOut => 124,
        }
    }
}

/// What a command printed, within bounds. Bytes that are not UTF-8 are shown as U+FFFD.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Output {
    /// The beginning; everything, when nothing was left out.
    pub head: String,
    /// What was left out between head and tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The end, when something was left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

/// A part of an output that is not in the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// How many bytes.
    pub bytes: u64,
    /// How many ends of lines are among them.
    pub lines: u64,
    /// Where all of it can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<FullLog>,
}

/// Where the whole output of a command is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FullLog {
    /// What to read it by, with `read_job`.
    pub id: JobId,
    /// The file that commands and file calls can read it from, where the sandbox has one. It is there
    /// as long as it holds the whole output and the log is kept, and no command can change it.
    pub path: Option<VirtualPath>,
    /// How many bytes of the output the log has room for; the rest was dropped.
    pub kept: u64,
}

impl Output {
    /// Creates an output of which nothing was left out.
    #[must_use]
    pub fn new(head: impl Into<String>) -> Self {
        Self { head: head.into(), left_out: None, tail: String::new() }
    }

    setters! {
        /// Sets what was left out between head and tail.
        left_out: impl Into<Option<LeftOut>>,
        /// Sets the end, when something was left out.
        tail: impl Into<String>,
    }

    /// Everything in one text, with a line that says what was left out and where it is.
    #[must_use]
    pub fn text(&self) -> String {
        let Some(left_out) = &self.left_out else { return self.head.clone() };
        format!("{}\n{left_out}\n{}", self.head, self.tail)
    }
}

impl LeftOut {
    /// Creates a note that this many bytes and ends of lines were left out, without a log.
    #[must_use]
    pub fn new(bytes: u64, lines: u64) -> Self {
        Self { bytes, lines, log: None }
    }

    setters! {
        /// Sets where all of the output can be read.
        log: impl Into<Option<FullLog>>,
    }
}

impl FullLog {
    /// Creates a log that has room for `kept` bytes of the output and is not in a file.
    #[must_use]
    pub fn new(id: impl Into<JobId>, kept: u64) -> Self {
        Self { id: id.into(), path: None, kept }
    }

    setters! {
        /// Sets the file that commands and file calls can read the log from.
        path: impl Into<Option<VirtualPath>>,
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[... {} bytes ({} lines) left out", self.bytes, self.lines)?;
        match &self.log {
            Some(FullLog { path: Some(path), id, .. }) => {
                write!(f, "; the full output is in `{path}`, and can be read as `{id}` ...]")
            }
            Some(FullLog { id, .. }) => write!(f, "; the full output can be read as `{id}` ...]"),
            None => f.write_str(" ...]"),
        }
    }
}

/// A limit that a command ran into, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LimitHit {
    /// Which.
    pub limit: LimitName,
    /// Like `killed: memory limit 512 MB`.
    pub sentence: String,
}

impl LimitHit {
    /// Creates a note of a limit, with a sentence that says what came of it.
    #[must_use]
    pub fn new(limit: LimitName, sentence: impl Into<String>) -> Self {
        Self { limit, sentence: sentence.into() }
    }
}
