//! Records of calls: the call, its paths or its command, and its outcome. Records contain neither file content nor
//! command output.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{ErrorKind, Resolved, setters::setters};

/// Records every call.
pub trait Audit: Send + Sync + fmt::Debug {
    /// Records a finished call. The call waits until the record is made.
    fn record(&self, event: &AuditEvent);

    /// Returns the time by the recorder's own steady clock, if records are to tell how long calls took. The core reads no
    /// clock.
    fn elapsed(&self) -> Option<Duration> {
        None
    }
}

/// The record of a finished or refused call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditEvent {
    /// The name of the call, from [`Op::name`](crate::Op::name).
    pub call: String,
    /// The paths of the call, typed and real; the source first.
    pub paths: Vec<Resolved>,
    /// The command, including its variables, if the call runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The outcome of the call.
    pub outcome: AuditOutcome,
    /// The tool that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Why the call was refused, in a sentence. A failure has none: its sentence may quote the content of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The milliseconds from the start of the call to its end, a question included, if the recorder has a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub millis: Option<u64>,
    /// The exit code of a command that ran to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How many bytes the call read or wrote, or the command printed, where the call knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl AuditEvent {
    /// Creates the record of a call without paths, a command or a tool.
    #[must_use]
    pub fn new(call: impl Into<String>, outcome: AuditOutcome) -> Self {
        Self {
            call: call.into(),
            paths: Vec::new(),
            command: None,
            outcome,
            tool: None,
            why: None,
            millis: None,
            exit_code: None,
            bytes: None,
        }
    }

    setters! {
        /// Sets the paths of the call, the source first.
        paths: Vec<Resolved>,
        /// Sets the command, including its variables.
        command: impl Into<Option<String>>,
        /// Sets the tool that made the call.
        tool: impl Into<Option<String>>,
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// The call was allowed and succeeded.
    Allowed,
    /// The call was approved and succeeded.
    Approved,
    /// A gate, a limit or the approver refused the call; it had no effect.
    Refused(ErrorKind),
    /// The call was allowed but failed.
    Failed(ErrorKind),
    /// The caller dropped the call before it ended; whether it had an effect is unknown.
    Abandoned,
}
