//! The vocabulary of a ruleset: operations and actions.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The action of a rule. Ordered by strictness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The call may proceed.
    Allow,
    /// The call requires approval.
    Ask,
    /// The call is denied.
    Deny,
}

/// An operation in a workspace, as rules name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// Reading content.
    Read,
    /// Writing a whole file, or making a directory.
    Write,
    /// Changing parts of a file.
    Edit,
    /// Removing files and directories.
    Delete,
    /// Running a command.
    Execute,
    /// Finding paths.
    Glob,
    /// Finding lines.
    Grep,
    /// Listing a directory.
    Ls,
}

impl Operation {
    /// All operations, in the order in which they are listed to people.
    pub const ALL: [Self; 8] =
        [Self::Read, Self::Write, Self::Edit, Self::Delete, Self::Execute, Self::Glob, Self::Grep, Self::Ls];

    /// Returns the name of the operation in a ruleset.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Delete => "delete",
            Self::Execute => "execute",
            Self::Glob => "glob",
            Self::Grep => "grep",
            Self::Ls => "ls",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
