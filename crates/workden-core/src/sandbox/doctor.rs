//! What a machine can isolate, finding by finding, as data: `workden doctor` prints it, and a
//! program can decide by it.

use serde::{Deserialize, Serialize};

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// What, as a program names it: `user_namespaces`.
    pub name: String,
    /// What, as a person names it.
    pub title: String,
    /// What it is needed for.
    pub need: Need,
    /// What was found.
    pub outcome: Outcome,
}

/// What something is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Without it there is no sandbox.
    Sandbox,
    /// Without it a limit is not held.
    Limits,
    /// Without it there is a wall less.
    Wall,
    /// Without it there is no sandbox at [`Level::Landlock`](super::Level), which is only used when it is
    /// named.
    LandlockLevel,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It works, and how.
    Works(String),
    /// It does not.
    Lacking {
        /// Why not.
        why: String,
        /// What would change that: a command, or a few lines to put somewhere.
        fix: Option<String>,
    },
}

impl Finding {
    /// Creates a finding; `name` is for programs, `title` for people.
    #[must_use]
    pub fn new(name: impl Into<String>, title: impl Into<String>, need: Need, outcome: Outcome) -> Self {
        Self { name: name.into(), title: title.into(), need, outcome }
    }

    /// Whether it works.
    #[must_use]
    pub fn works(&self) -> bool {
        matches!(self.outcome, Outcome::Works(_))
    }
}
