//! A change to one file as a value: it is sent to the file and planned there, under the lock, so that no content is
//! transferred and no other writer interferes.

use serde::{Deserialize, Serialize};

use super::{
    edit,
    encoding::decode_losslessly,
    hashline::{self, HashlineEdit},
    splice::{Splice, difference},
};
use crate::{Error, ErrorKind, Result, VirtualPath};

pub use super::edit::Replacement;

/// A change to the content of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Texts to replace, one after the other; all or none are replaced.
    Replace(Vec<Replacement>),
    /// Lines to replace, named by number and hash.
    Hashline(HashlineEdit),
}

/// The effect of a change on a given content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The splices: in order, not overlapping.
    pub splices: Vec<Splice>,
    /// The result to report.
    pub outcome: Outcome,
}

/// The result of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// How many places were replaced.
    Replaced(u64),
    /// A short summary of the changed lines.
    Lines(String),
}

impl Change {
    /// Plans the change of this content.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`edit::plan`] and [`hashline::apply`].
    pub fn plan(&self, path: &VirtualPath, content: &[u8]) -> Result<Plan> {
        match self {
            Self::Replace(replacements) => {
                let plan = edit::plan(path, content, replacements)?;
                Ok(Plan { splices: plan.splices, outcome: Outcome::Replaced(plan.replaced) })
            }
            Self::Hashline(edit) => {
                let (encoding, text) = decode_losslessly("edit", path, content)?;
                let applied = hashline::apply(path, &text, edit)?;
                let edited = encoding.encode(&applied.text).ok_or_else(|| {
                    Error::new(
                        ErrorKind::NotText,
                        format!(
                            "cannot edit `{path}`: the new text has a character that {} cannot hold",
                            encoding.label()
                        ),
                    )
                    .hint("use characters of that encoding, or convert the file to UTF-8 first")
                })?;
                Ok(Plan { splices: vec![difference(content, &edited)], outcome: Outcome::Lines(applied.summary) })
            }
        }
    }
}
