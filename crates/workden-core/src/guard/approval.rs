//! `Approver`, and the question that it answers, as data.
//!
//! A call is asked about at most once, after every cheap denial, and the question states exactly what would be done.
//! The guard then does exactly that, or nothing. Remembering answers is up to the approver.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Entry, Error, Refusal, Resolved, Version, VirtualPath, setters::setters};

/// Decides about calls that need approval: a person, or a program in their place.
#[async_trait]
pub trait Approver: Send + Sync + fmt::Debug {
    /// Decides about one call. The decision may take as long as a person needs.
    async fn approve(&self, request: ApprovalRequest) -> Approval;
}

/// The answer of an approver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// The call may proceed.
    Granted,
    /// The call is refused; the caller gets the error.
    Refused(Error),
}

/// The question: the call, its targets, the tool that makes it, and why it needs approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call in one word: `read`, `write`, `edit`, `delete`, `move`, `copy`, `list`, `grep`, `execute`.
    pub call: String,
    /// The operations that the call needs, by their names in a ruleset: a move is `read`, `delete` and `write`.
    pub operations: Vec<String>,
    /// The paths of the call, typed and real; the source first.
    pub paths: Vec<Resolved>,
    /// Other names of the same file that rules apply to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<VirtualPath>,
    /// How many entries below a directory are affected with it.
    #[serde(default)]
    pub below: u64,
    /// The command to run, if the call runs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// What the call would do, in a sentence for a person.
    pub description: String,
    /// Why the call needs approval: the error that the caller would get without an approver.
    pub why: String,
    /// The same reason as data, if the gate provided it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// The tool that makes the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// The change as a unified diff of bounded length; if no diff is possible, a sentence that says so and the start of
    /// the content. `None` for calls that write no content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What the preview leaves out, in words (`2802 lines`). A question must say it first, apart from the preview: a
    /// content could pretend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// The state of the call's targets when the question was asked. If the same question is asked again, a late answer
    /// to it is valid only while this state is the same. Empty for calls that only look, and for commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetState>,
}

impl ApprovalRequest {
    /// Creates a question about a call that needs the one operation of the same name.
    #[must_use]
    pub fn new(call: impl Into<String>, description: impl Into<String>, why: impl Into<String>) -> Self {
        let call = call.into();
        Self {
            operations: vec![call.clone()],
            call,
            paths: Vec::new(),
            other_names: Vec::new(),
            below: 0,
            command: None,
            description: description.into(),
            why: why.into(),
            refusal: None,
            caller: None,
            preview: None,
            left_out: None,
            targets: Vec::new(),
        }
    }

    /// Returns why a rule asks about the call, if it says more than that the call needs approval: a question already
    /// says what the call would do.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match &self.refusal {
            Some(Refusal::Unapproved { description, .. }) => Some(description.as_str()).filter(|text| !text.is_empty()),
            _ => Some(&self.why),
        }
    }

    /// Sets the operations that the call needs, by their names in a ruleset.
    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.operations = operations.into_iter().map(Into::into).collect();
        self
    }

    setters! {
        /// Sets the paths of the call, the source first.
        paths: Vec<Resolved>,
        /// Sets the other names of the same file that rules apply to.
        other_names: Vec<VirtualPath>,
        /// Sets how many entries below a directory are affected with it.
        below: u64,
        /// Sets the command to run.
        command: impl Into<Option<CommandLine>>,
        /// Sets the reason as data.
        refusal: impl Into<Option<Refusal>>,
        /// Sets the tool that makes the call.
        caller: impl Into<Option<Caller>>,
        /// Sets the change as a unified diff.
        preview: impl Into<Option<String>>,
        /// Sets what the preview leaves out, in words.
        left_out: impl Into<Option<String>>,
        /// Sets the current state of the call's targets.
        targets: Vec<TargetState>,
    }
}

/// The state of a target of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// The path is missing.
    Nothing,
    /// A file with this content.
    Content(Version),
    /// The entry at a path of the call, and the version of its content if it is a file that is not too large.
    Entry(Entry, Option<Version>),
    /// The content of a directory, by names, sizes and times.
    Below(Version),
}

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The line for a shell, including its variables.
    pub script: String,
    /// The working directory.
    pub directory: VirtualPath,
    /// The program and arguments of each command that needs approval. `None` if something else needs approval as well,
    /// or the line was not understood.
    pub understood: Option<Vec<Vec<String>>>,
}

/// The tool that makes calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the tool call.
    #[serde(default)]
    pub arguments: serde_json::Value,
}
