//! The isolation that a machine or a cluster supports, finding by finding, as data: `workden doctor` prints it, and programs can
//! evaluate it.

use serde::{Deserialize, Serialize};

/// The result of one check of a machine or a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// The name for programs: `user_namespaces`.
    pub name: String,
    /// The name for people.
    pub title: String,
    /// What the feature is needed for.
    pub need: Need,
    /// The result.
    pub outcome: Outcome,
}

/// What a feature is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Without the feature, no sandbox can start.
    Sandbox,
    /// Without the feature, a limit is not enforced.
    Limits,
    /// Without the feature, one isolation mechanism is missing.
    Wall,
    /// Without the feature, no sandbox can start at [`Level::Landlock`](super::Level), which must be requested by name.
    LandlockLevel,
    /// Without the feature, sandboxes work, but not the sessions that several processes share.
    Sessions,
    /// Without the feature, sandboxes work, slower or with less to report.
    Optional,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The feature works, in this way.
    Works(String),
    /// The feature does not work.
    Lacking {
        /// The reason.
        why: String,
        /// How to enable it: a command, or lines for a configuration file.
        fix: Option<String>,
    },
    /// The check could not be made, for this reason.
    Unknown(String),
}

impl Finding {
    /// Creates a finding; `name` is for programs, `title` for people.
    #[must_use]
    pub fn new(name: impl Into<String>, title: impl Into<String>, need: Need, outcome: Outcome) -> Self {
        Self { name: name.into(), title: title.into(), need, outcome }
    }

    /// Whether the feature works.
    #[must_use]
    pub fn works(&self) -> bool {
        matches!(self.outcome, Outcome::Works(_))
    }

    /// Whether the feature is known not to work.
    #[must_use]
    pub fn is_lacking(&self) -> bool {
        matches!(self.outcome, Outcome::Lacking { .. })
    }
}
