//! What a grep looks for. Plain data: it is compiled where the files are.

use serde::{Deserialize, Serialize};

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// The text or regular expression.
    pub text: String,
    /// Which of the two it is.
    #[serde(default)]
    pub syntax: Syntax,
    /// Whether letter case counts.
    #[serde(default)]
    pub case: LetterCase,
    /// Whether a match may go over the end of a line.
    #[serde(default)]
    pub span: Span,
}

/// How a pattern is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    /// A regular expression in Rust's syntax, which is matched in linear time.
    #[default]
    Regex,
    /// The text itself.
    Literal,
}

/// Whether letter case counts in a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterCase {
    /// It does.
    #[default]
    Sensitive,
    /// It does not.
    Insensitive,
    /// It does if the pattern has an upper-case letter.
    Smart,
}

/// How far a match may go.
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
    /// A regular expression.
    pub fn regex(text: impl Into<String>) -> Self {
        Self { text: text.into(), syntax: Syntax::Regex, case: LetterCase::Sensitive, span: Span::Line }
    }

    /// A text as it stands.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { syntax: Syntax::Literal, ..Self::regex(text) }
    }
}
