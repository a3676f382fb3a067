//! A change to one file as a value: it travels to where the file is and is planned there, under the
//! lock, so that no content has to travel and no other writer can get in between.

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
    /// Texts to replace, one after the other; all or none.
    Replace(Vec<Replacement>),
    /// Lines to replace, named by number and hash.
    Hashline(HashlineEdit),
}

/// What a change comes to for a given content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What to put where: in order, not overlapping.
    pub splices: Vec<Splice>,
    /// What to say of it.
    pub outcome: Outcome,
}

/// What a change has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// How many places were replaced.
    Replaced(u64),
    /// What happened to which lines, in a few words.
    Lines(String),
}

impl Change {
    /// Plans the change of a content.
    ///
    /// # Errors
    ///
    /// As [`edit::plan`] and [`hashline::apply`].
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
