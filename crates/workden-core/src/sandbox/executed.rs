//! The result of a command: its bounded output, how it ended, and the limits it hit.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Hint, JobId, LimitName};
use crate::{VirtualPath, setters::setters};

/// The result of a command that ran to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Executed {
    /// The output.
    pub output: Output,
    /// How the command ended.
    pub ended: Ended,
    /// How long the command took.
    pub duration: Duration,
    /// The limits that the command hit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits_hit: Vec<LimitHit>,
    /// What to do about a failure that the sandbox caused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<Hint>,
}

impl Executed {
    /// Creates the result of a command that hit no limit, without hints.
    #[must_use]
    pub fn new(output: Output, ended: Ended, duration: Duration) -> Self {
        Self { output, ended, duration, limits_hit: Vec::new(), hints: Vec::new() }
    }

    setters! {
        /// Sets the limits that the command hit.
        limits_hit: Vec<LimitHit>,
        /// Sets what to do about a failure that the sandbox caused.
        hints: Vec<Hint>,
    }

    /// Returns the text of the output, with a line for each hint below it.
    #[must_use]
    pub fn text_with_hints(&self) -> String {
        self.with_hints(self.output.text())
    }

    /// Adds a line for each hint to a text of the output.
    #[must_use]
    pub fn with_hints(&self, mut text: String) -> String {
        for hint in &self.hints {
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text = format!("{text}{end}hint: {}\n", hint.sentence());
        }
        text
    }

    /// Returns the exit code that a shell would report: 124 after a timeout, 128+N after signal N.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        self.ended.exit_code()
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The command exited with this code.
    Exited(i32),
    /// This signal ended the command.
    Signalled(i32),
    /// The sandbox stopped the command at its timeout.
    TimedOut,
}

impl Ended {
    /// Returns the exit code that a shell would report.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::TimedOut => 124,
        }
    }
}

/// The bounded output of a command. Bytes that are not UTF-8 are shown as U+FFFD.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Output {
    /// The start of the output; all of it if no part was left out.
    pub head: String,
    /// The omitted part between head and tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// The end of the output; empty if no part was left out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

/// The part of an output that the answer omits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// The number of omitted bytes.
    pub bytes: u64,
    /// The number of line endings among them.
    pub lines: u64,
    /// The log with the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<FullLog>,
}

/// The log with the whole output of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FullLog {
    /// The id to pass to `read_job`.
    pub id: JobId,
    /// The file from which commands and file calls can read the output, if the sandbox has one. The file exists while
    /// it holds the whole output and the log is kept, and no command can change it.
    pub path: Option<VirtualPath>,
    /// How many bytes of the output the log holds; the others were dropped.
    pub kept: u64,
}

impl Output {
    /// Creates an output without an omitted part.
    #[must_use]
    pub fn new(head: impl Into<String>) -> Self {
        Self { head: head.into(), left_out: None, tail: String::new() }
    }

    setters! {
        /// Sets the omitted part between head and tail.
        left_out: impl Into<Option<LeftOut>>,
        /// Sets the end of the output.
        tail: impl Into<String>,
    }

    /// Returns head and tail as one text, with a line between them that describes the omitted part and names the log.
    #[must_use]
    pub fn text(&self) -> String {
        let Some(left_out) = &self.left_out else { return self.head.clone() };
        format!("{}\n{left_out}\n{}", self.head, self.tail)
    }
}

impl LeftOut {
    /// Creates a note that this many bytes and line endings were left out, without a log.
    #[must_use]
    pub fn new(bytes: u64, lines: u64) -> Self {
        Self { bytes, lines, log: None }
    }

    setters! {
        /// Sets the log with the whole output.
        log: impl Into<Option<FullLog>>,
    }
}

impl FullLog {
    /// Creates a log that holds `kept` bytes of the output and has no file.
    #[must_use]
    pub fn new(id: impl Into<JobId>, kept: u64) -> Self {
        Self { id: id.into(), path: None, kept }
    }

    setters! {
        /// Sets the file from which commands and file calls can read the log.
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

/// A limit that a command hit, and the consequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LimitHit {
    /// The limit.
    pub limit: LimitName,
    /// The consequence, like `killed: memory limit 512 MB`.
    pub sentence: String,
}

impl LimitHit {
    /// Creates a note of a limit, with a sentence about the consequence.
    #[must_use]
    pub fn new(limit: LimitName, sentence: impl Into<String>) -> Self {
        Self { limit, sentence: sentence.into() }
    }
}
