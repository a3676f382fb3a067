//! A window into a text, as request and as answer. Both are plain data, because they cross the wire.

use serde::{Deserialize, Serialize};

use crate::{Version, limits, setters::setters};

/// The part of a text to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextWindow {
    /// Whole lines.
    Lines {
        /// How many lines to skip.
        offset: u64,
        /// How many lines to take at most.
        limit: u64,
        /// How many characters to take at most.
        max_chars: u64,
    },
    /// Characters (Unicode code points).
    Chars {
        /// How many characters to skip.
        offset: u64,
        /// How many characters to take at most.
        limit: u64,
    },
}

impl TextWindow {
    /// Returns a window of `limit` lines after the first `offset`, with the default limit of characters.
    #[must_use]
    pub fn lines(offset: u64, limit: u64) -> Self {
        Self::Lines { offset, limit, max_chars: limits::READ_CHARS }
    }

    /// Returns a window of `limit` characters after the first `offset`.
    #[must_use]
    pub fn chars(offset: u64, limit: u64) -> Self {
        Self::Chars { offset, limit: limit.min(limits::READ_CHARS) }
    }
}

/// The content of a window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Excerpt {
    /// The decoded text of the window, with the line endings of the file.
    pub text: String,
    /// The name of the encoding it was decoded from.
    pub encoding: String,
    /// The position of the window in the text.
    pub extent: Extent,
    /// Whether the window ended early, and where.
    pub cut: Cut,
    /// The version of the whole file; `None` if it was not read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The size of the whole file in bytes; `None` if it was not read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl Excerpt {
    /// Creates a window of a text with an unknown version and size.
    #[must_use]
    pub fn new(text: String, encoding: impl Into<String>, extent: Extent) -> Self {
        Self { text, encoding: encoding.into(), extent, cut: Cut::No, version: None, size: None }
    }

    setters! {
        /// Sets whether the window ended early, and where.
        cut: Cut,
        /// Sets the version of the whole file.
        version: impl Into<Option<Version>>,
        /// Sets how many bytes the whole file has.
        size: impl Into<Option<u64>>,
    }
}

/// The position of a window in the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// In lines.
    Lines {
        /// How many lines are before the window.
        offset: u64,
        /// How many lines the window shows.
        shown: u64,
        /// How many lines the text has.
        total: u64,
    },
    /// In characters.
    Chars {
        /// How many characters are before the window.
        offset: u64,
        /// How many characters the window shows.
        shown: u64,
        /// How many characters the text has.
        total: u64,
    },
}

/// Whether the limit of characters ended a window of lines before its last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// The window shows every requested line.
    #[default]
    No,
    /// The window ends after a whole line.
    BetweenLines,
    /// The window's only line is longer than the limit, and is shown in part.
    InsideLine,
}
