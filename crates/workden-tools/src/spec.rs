//! What a model is told of a tool before it calls it.

use serde::Serialize;
use serde_json::Value;

/// A tool as a model sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolSpec {
    /// What it is called.
    pub name: String,
    /// What it does and how it is used.
    pub description: String,
    /// Its arguments, as JSON Schema.
    pub input_schema: Value,
    /// What a client may want to know before it lets a model call it.
    pub annotations: Annotations,
}

/// What calling a tool can do. Hints for people and clients; the policy decides on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "four independent hints, as clients know them")]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It can take something away that was there.
    pub destructive: bool,
    /// Calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It can reach beyond the workspace.
    pub open_world: bool,
}

impl Annotations {
    /// Looks, and changes nothing.
    pub(crate) const LOOKS: Self = Self { read_only: true, destructive: false, idempotent: true, open_world: false };
    /// Looks, and the next time it sees what came since.
    pub(crate) const LOOKS_ON: Self =
        Self { read_only: true, destructive: false, idempotent: false, open_world: false };
    /// Replaces what was there by what it is told, as often as it is told.
    pub(crate) const REPLACES: Self = Self { read_only: false, destructive: true, idempotent: true, open_world: false };
    /// Changes what was there; a second time it is something else, or fails.
    pub(crate) const CHANGES: Self = Self { read_only: false, destructive: true, idempotent: false, open_world: false };
    /// Adds, and takes nothing away.
    pub(crate) const ADDS: Self = Self { read_only: false, destructive: false, idempotent: false, open_world: false };
    /// Does whatever a command does.
    pub(crate) const RUNS: Self = Self { read_only: false, destructive: true, idempotent: false, open_world: true };
}
