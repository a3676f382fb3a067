//! What somebody who was asked can say.

use serde::{Deserialize, Serialize};
use workden_core::VirtualPath;

/// What somebody who was asked has said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Yes, this far.
    Approve(Scope),
    /// No.
    Deny {
        /// What the model should hear: why, and what would be acceptable.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Nobody could be asked.
    Unanswered {
        /// What can be done about that, for whoever reads the refusal.
        how: String,
    },
}

impl Decision {
    /// No, and why.
    pub fn deny(note: impl Into<String>) -> Self {
        Self::Deny { note: Some(note.into()) }
    }
}

/// How far an approval goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// This call.
    Once,
    /// The same call on the same paths, until the session ends; the content may differ.
    Session,
    /// Commands that start with these words, run in this directory or below it, until the session
    /// ends. It covers only what was understood of a command: no doubts, and nothing but these
    /// programs.
    CommandPrefix {
        /// The first words.
        words: Vec<String>,
        /// Where.
        directory: VirtualPath,
    },
}
