//! The context of the text that the parser reads.

use super::tree::Splitting;

/// The position of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordContext {
    /// Where an assignment is allowed.
    Assignable,
    /// Anywhere else.
    Argument,
    /// To the right of `=`, `==` or `!=` in `[[ ]]`, where parentheses are part of the word.
    TestPattern,
    /// To the right of `=~` in `[[ ]]`, where `|` is part of the word as well.
    TestRegex,
}

/// The kind of quotes around a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    /// Between `"` and `"`.
    Double,
    /// The text of a here-document, to its end.
    Here,
    /// Extracted arithmetic, to its end.
    Arithmetic,
    /// The subscript of an assignment, up to `]`.
    Subscript,
}

impl Quotes {
    /// Returns how the values of expansions are used in these quotes.
    pub(super) fn splitting(self) -> Splitting {
        if self == Self::None { Splitting::Splits } else { Splitting::Whole }
    }
}

/// Whether leading tabs are removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tabs {
    Kept,
    Stripped,
}
