//! The answers to a question for approval.

use serde::{Deserialize, Serialize};
use workden_core::VirtualPath;

/// The answer to a question for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call is approved, with this scope.
    Approve(Scope),
    /// The call is denied.
    Deny {
        /// A note for the model: the reason, and an acceptable alternative.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The question could not be asked.
    Unanswered {
        /// How to enable approval, for the reader of the refusal.
        how: String,
    },
}

impl Decision {
    /// Returns a denial with its reason.
    pub fn deny(note: impl Into<String>) -> Self {
        Self::Deny { note: Some(note.into()) }
    }
}

/// The scope of an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Only this call.
    Once,
    /// The same call on the same paths, until the session ends; the content may differ.
    Session,
    /// Commands that start with these words, run in this directory or below it, until the session ends. The approval
    /// covers only commands that were fully understood and run nothing but these programs.
    CommandPrefix {
        /// The first words.
        words: Vec<String>,
        /// The directory.
        directory: VirtualPath,
    },
}
