//! A window into a text, as asked for and as answered. Plain data: it travels to where the text is.

use serde::{Deserialize, Serialize};

use crate::{Version, limits, setters::setters};

/// Which part of a text to read.
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
    /// `limit` lines after the first `offset`, under the usual ceiling.
    #[must_use]
    pub fn lines(offset: u64, limit: u64) -> Self {
        Self::Lines { offset, limit, max_chars: limits::READ_CHARS }
    }

    /// `limit` characters after the first `offset`.
    #[must_use]
    pub fn chars(offset: u64, limit: u64) -> Self {
        Self::Chars { offset, limit: limit.min(limits::READ_CHARS) }
    }
}

/// What a window showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Excerpt {
    /// The text of the window, decoded, line endings as they are in the file.
    pub text: String,
    /// The name of the encoding it was decoded from.
    pub encoding: String,
    /// Where the window lies in the whole.
    pub extent: Extent,
    /// Whether the window ended early, and where.
    pub cut: Cut,
    /// The version of the whole file, of which the window is a part; `None` where it was not read to
    /// its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// How many bytes the whole file has, where it was read to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl Excerpt {
    /// Creates a window of a text of which neither version nor size is known.
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

/// Where a window lies in the whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// In lines.
    Lines {
        /// How many lines lie before the window.
        offset: u64,
        /// How many lines it shows.
        shown: u64,
        /// How many lines the text has.
        total: u64,
    },
    /// In characters.
    Chars {
        /// How many characters lie before the window.
        offset: u64,
        /// How many characters it shows.
        shown: u64,
        /// How many characters the text has.
        total: u64,
    },
}

/// Whether the ceiling of characters ended a window of lines before its last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// It shows every line it asked for.
    #[default]
    No,
    /// It ends after a whole line.
    BetweenLines,
    /// Its one line is longer than the ceiling, and is shown in part.
    InsideLine,
}
