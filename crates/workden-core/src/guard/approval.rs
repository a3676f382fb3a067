//! `Approver`, and the question that it is asked, as data.
//!
//! A question is asked after every cheap denial, once a call, and says what exactly would be done.
//! What is done then is that, or nothing. Remembering answers is an approver's own business.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{Entry, Error, Refusal, Resolved, Version, VirtualPath, setters::setters};

/// Decides about calls that have to be approved: a person, or a program in their place.
#[async_trait]
pub trait Approver: Send + Sync + fmt::Debug {
    /// Decides about one call. It may take as long as a person takes.
    async fn approve(&self, request: ApprovalRequest) -> Approval;
}

/// The answer of an approver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Go ahead with this call.
    Granted,
    /// No; the error is what the caller hears.
    Refused(Error),
}

/// The question: what would be done, to what, on whose behalf, and why it has to be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The call in one word: `read`, `write`, `edit`, `delete`, `move`, `copy`, `list`, `grep`, `execute`.
    pub call: String,
    /// What it demands, in the words of a ruleset: a move is `read`, `delete` and `write`.
    pub operations: Vec<String>,
    /// What it is about, as typed and as real; the source first.
    pub paths: Vec<Resolved>,
    /// Other names of the same file that have a say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_names: Vec<VirtualPath>,
    /// How many things below a directory go with it.
    #[serde(default)]
    pub below: u64,
    /// The command, where one is to be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandLine>,
    /// What would be done, in a sentence for a person.
    pub description: String,
    /// Why it has to be approved: the error that the caller would get without an approver.
    pub why: String,
    /// The same as data, where the gate gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// On whose behalf it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<Caller>,
    /// What would change, as a unified diff of bounded length; where there can be none, a sentence that
    /// says so, and the beginning. `None` for calls that put no content anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What the call would be done to, as it was when the question was put. An answer that is brought
    /// later, when the question is put anew, is one to this question only while this is the same. Empty
    /// for calls that look, and for commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetState>,
}

impl ApprovalRequest {
    /// Creates a question about a call that demands the one operation of the same name.
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
            targets: Vec::new(),
        }
    }

    /// Sets what the call demands, in the words of a ruleset.
    #[must_use]
    pub fn operations(mut self, operations: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.operations = operations.into_iter().map(Into::into).collect();
        self
    }

    setters! {
        /// Sets what the call is about, the source first.
        paths: Vec<Resolved>,
        /// Sets the other names of the same file that have a say.
        other_names: Vec<VirtualPath>,
        /// Sets how many things below a directory go with it.
        below: u64,
        /// Sets the command that is to be run.
        command: impl Into<Option<CommandLine>>,
        /// Sets why the call has to be approved, as data.
        refusal: impl Into<Option<Refusal>>,
        /// Sets on whose behalf the call is made.
        caller: impl Into<Option<Caller>>,
        /// Sets what would change, as a unified diff.
        preview: impl Into<Option<String>>,
        /// Sets what the call would be done to, as it is now.
        targets: Vec<TargetState>,
    }
}

/// Something that a call would be done to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// Nothing is there.
    Nothing,
    /// A file with this content.
    Content(Version),
    /// Whatever is at a path of the call, and its content, where that is a file that is not too large.
    Entry(Entry, Option<Version>),
    /// All that is in a directory, by names, sizes and times.
    Below(Version),
}

/// A command that is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// As it would be given to a shell, with the variables that come with it.
    pub script: String,
    /// Where it would run.
    pub directory: VirtualPath,
    /// The commands in it that need approval and nothing but: program and arguments of each. `None`
    /// when something else than these needs it, or was not understood.
    pub understood: Option<Vec<Vec<String>>>,
}

/// The tool on whose behalf calls are made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Caller {
    /// Its name.
    pub tool: String,
    /// What it was called with.
    #[serde(default)]
    pub arguments: serde_json::Value,
}
