//! `Attributes`: what users and programs note about a file, beside its content.
//!
//! Invariant: attributes are few and short. They are checked when they are made, so every answer about a file may carry
//! them, and no backend has to check them again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result, limits};

/// The user-defined attributes of a file whose names start with one prefix. Where files are on a file system of Linux,
/// `author` with the prefix `e2b.` is the extended attribute `user.e2b.author`.
///
/// ```
/// use workden_core::Attributes;
///
/// let attributes = Attributes::new("e2b.", [("author", "ada")])?;
/// assert_eq!(attributes.iter().collect::<Vec<_>>(), [("author", "ada")]);
/// assert!(Attributes::new("e2b.", [("author", "a".repeat(5_000))]).is_err());
/// # Ok::<(), workden_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Attributes {
    prefix: String,
    values: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Unchecked {
    prefix: String,
    values: BTreeMap<String, String>,
}

impl TryFrom<Unchecked> for Attributes {
    type Error = Error;

    fn try_from(sent: Unchecked) -> Result<Self> {
        Self::new(sent.prefix, sent.values)
    }
}

impl Attributes {
    /// Creates attributes from their names, without the prefix, and their values.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` if a name is empty, too long or contains NUL, and `TooLarge` if names and values have
    /// more than [`limits::ATTRIBUTE_BYTES`] together.
    pub fn new<N: Into<String>, V: Into<String>>(
        prefix: impl Into<String>,
        values: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self> {
        let prefix = prefix.into();
        let values: BTreeMap<String, String> =
            values.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let most = limits::ATTRIBUTE_NAME_BYTES.saturating_sub(prefix.len());
        for name in values.keys() {
            let why = match name.len() {
                0 => "it is empty".to_owned(),
                bytes if bytes > most => format!("it has {bytes} bytes, and {most} is the most"),
                _ if name.contains('\0') || prefix.contains('\0') => "it contains NUL".to_owned(),
                _ => continue,
            };
            let shown: String = name.chars().take(40).collect();
            let sentence = format!("invalid name of an attribute, `{}`: {why}", shown.escape_debug());
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("use short names"));
        }
        let bytes: usize = values.iter().map(|(name, value)| name.len() + value.len()).sum();
        match bytes > limits::ATTRIBUTE_BYTES {
            true => Err(Self::too_large()),
            false => Ok(Self { prefix, values }),
        }
    }

    /// Returns no attributes.
    #[must_use]
    pub fn none(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), values: BTreeMap::new() }
    }

    /// Returns the error for attributes beyond the limit.
    #[must_use]
    pub fn too_large() -> Error {
        let most = limits::ATTRIBUTE_BYTES;
        let sentence = format!("invalid attributes: their names and values have more than {most} bytes together");
        Error::new(ErrorKind::TooLarge, sentence).hint("keep long text in a file")
    }

    /// Returns what all names start with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the names, without the prefix, and the values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns how many attributes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_few_and_short_also_after_a_wire() {
        let longest = "n".repeat(limits::ATTRIBUTE_NAME_BYTES - 4);
        for (name, value, kind) in [
            ("author", "ada".to_owned(), None),
            ("author", String::new(), None),
            (longest.as_str(), String::new(), None),
            (&format!("{longest}n"), String::new(), Some(ErrorKind::InvalidArgument)),
            ("", "x".to_owned(), Some(ErrorKind::InvalidArgument)),
            ("a\0b", "x".to_owned(), Some(ErrorKind::InvalidArgument)),
            ("a", "x".repeat(limits::ATTRIBUTE_BYTES - 1), None),
            ("a", "x".repeat(limits::ATTRIBUTE_BYTES), Some(ErrorKind::TooLarge)),
        ] {
            let made = Attributes::new("e2b.", [(name, value.clone())]);
            assert_eq!(made.as_ref().err().map(Error::kind), kind, "{name}");
            let sent = serde_json::json!({ "prefix": "e2b.", "values": { name: value } });
            let arrived = serde_json::from_value::<Attributes>(sent.clone()).ok();
            assert_eq!(arrived, made.ok(), "{name}");
            assert!(arrived.is_none_or(|arrived| serde_json::to_value(arrived).unwrap() == sent));
        }
    }
}
