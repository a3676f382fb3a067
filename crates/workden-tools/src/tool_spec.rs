//! The description of a tool for a model.

use serde::Serialize;
use serde_json::Value;

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name by which it is called.
    pub name: String,
    /// The name as a person reads it.
    pub title: String,
    /// The purpose of the tool and its use.
    pub description: String,
    /// The arguments, as JSON Schema.
    pub input_schema: Value,
    /// The data of its answers, as JSON Schema. A tool without one answers with text: its data, if any, are facts about
    /// the text, like an exit code, and do not repeat it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints for a client that decides whether a model may call it.
    pub annotations: Annotations,
}

/// The effects of a tool. Hints for people and clients; the policy does not depend on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "four independent hints, as clients know them")]
#[non_exhaustive]
pub struct Annotations {
    /// The tool changes nothing.
    pub read_only: bool,
    /// The tool can remove or replace content.
    pub destructive: bool,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// The tool can reach beyond the workspace.
    pub open_world: bool,
}

impl Annotations {
    /// Reads, and answers the same as long as nothing changes.
    pub(crate) const READS: Self = Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Reads, and answers with what is new since the last call.
    pub(crate) const READS_NEWS: Self =
        Self { read_only: true, destructive: false, idempotent: false, open_world: false };
    /// Replaces content by what it is given.
    pub(crate) const REPLACES: Self = Self { read_only: false, destructive: true, idempotent: true, open_world: false };
    /// Changes content; a second call does something else, or fails.
    pub(crate) const CHANGES: Self = Self { read_only: false, destructive: true, idempotent: false, open_world: false };
    /// Adds content, and removes none.
    pub(crate) const ADDS: Self = Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Runs a command.
    pub(crate) const RUNS: Self = Self { read_only: false, destructive: true, idempotent: false, open_world: true };
}
