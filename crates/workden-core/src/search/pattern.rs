//! The pattern of a grep. It is plain data, and compiled next to the files.

use serde::{Deserialize, Serialize};

/// The pattern of a grep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The text or regular expression.
    pub text: String,
    /// Whether `text` is a regular expression or a literal.
    #[serde(default)]
    pub syntax: Syntax,
    /// Whether letter case counts.
    #[serde(default)]
    pub case: LetterCase,
    /// Whether a match may span several lines.
    #[serde(default)]
    pub span: Span,
}

/// How a pattern is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    /// A regular expression in Rust's syntax, matched in linear time.
    #[default]
    Regex,
    /// A literal text.
    Literal,
}

/// Whether letter case counts in a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterCase {
    /// Letter case counts.
    #[default]
    Sensitive,
    /// Letter case does not count.
    Insensitive,
    /// Letter case counts if the pattern has an upper-case letter.
    Smart,
}

/// How far a match may extend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// Within one line.
    #[default]
    Line,
    /// Over any number of lines.
    MultiLine,
}

impl Pattern {
    /// Creates a pattern from a regular expression.
    pub fn regex(text: impl Into<String>) -> Self {
        Self { text: text.into(), syntax: Syntax::Regex, case: LetterCase::Sensitive, span: Span::Line }
    }

    /// Creates a pattern from a literal text.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { syntax: Syntax::Literal, ..Self::regex(text) }
    }
}
