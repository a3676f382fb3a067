//! Rulesets in the format of pydantic-ai-backend, as its JSON writes them.

use serde::Deserialize;
use workden_policy::Action;

/// A ruleset of the reference.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    pub(super) default: Action,
    pub(super) read: Option<WrittenOperation>,
    pub(super) write: Option<WrittenOperation>,
    pub(super) edit: Option<WrittenOperation>,
    pub(super) execute: Option<WrittenOperation>,
    pub(super) glob: Option<WrittenOperation>,
    pub(super) grep: Option<WrittenOperation>,
    pub(super) ls: Option<WrittenOperation>,
}

/// The rules of one operation.
#[derive(Debug, Deserialize)]
pub(super) struct WrittenOperation {
    pub(super) default: Action,
    pub(super) rules: Vec<WrittenRule>,
}

/// A rule of the reference.
#[derive(Debug, Deserialize)]
pub(super) struct WrittenRule {
    pub(super) pattern: String,
    pub(super) action: Action,
    #[serde(default)]
    pub(super) description: String,
}
