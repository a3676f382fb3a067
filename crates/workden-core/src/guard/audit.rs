//! Records of calls: what was called on which paths, which command was run, and what became of it.
//! No content, and nothing that a command printed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ErrorKind, Resolved, setters::setters};

/// Keeps a record of every call.
pub trait Audit: Send + Sync + fmt::Debug {
    /// Takes note of a call that is over. It holds the call up for as long as it takes.
    fn record(&self, event: &AuditEvent);
}

/// A call that is over, the refused ones included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuditEvent {
    /// The call in one word, as [`Op::name`](crate::Op::name) has it.
    pub call: String,
    /// What it was about, as typed and as real; the source first.
    pub paths: Vec<Resolved>,
    /// The command, with the variables that came with it, where one was to be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// What became of it.
    pub outcome: AuditOutcome,
    /// The tool on whose behalf it was made.
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
        /// Sets what the call was about, the source first.
        paths: Vec<Resolved>,
        /// Sets the command, with the variables that came with it.
        command: impl Into<Option<String>>,
        /// Sets the tool on whose behalf the call was made.
        tool: impl Into<Option<String>>,
    }
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// It was allowed, and done.
    Allowed,
    /// It was approved, and done.
    Approved,
    /// A gate, a ceiling or the approver refused it; nothing was done.
    Refused(ErrorKind),
    /// It was allowed, and could not be done.
    Failed(ErrorKind),
    /// Its caller gave up before it was over; whether it was done is not known.
    Abandoned,
}
