//! Records of calls: the call, its paths or its command, and its outcome. Records contain neither file content nor
//! command output.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ErrorKind, Resolved, setters::setters};

/// Records every call.
pub trait Audit: Send + Sync + fmt::Debug {
    /// Records a finished call. The call waits until the record is made.
    fn record(&self, event: &AuditEvent);
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
}

impl AuditEvent {
    /// Creates the record of a call without paths, a command or a tool.
    #[must_use]
    pub fn new(call: impl Into<String>, outcome: AuditOutcome) -> Self {
        Self { call: call.into(), paths: Vec::new(), command: None, outcome, tool: None }
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
