//! The context of the text that is being read.

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordContext {
    /// Where an assignment may stand.
    Assignable,
    /// Anywhere else.
    Argument,
    /// To the right of `==` or `=~` in `[[ ]]`, where parentheses are a part of it.
    TestPattern,
    /// The same, where `|` is as well.
    TestRegex,
}

/// In what kind of quotes a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    /// Between `"` and `"`.
    Double,
    /// The text of a here-document: to the end.
    Here,
    /// Arithmetic that was cut out: to the end.
    Arithmetic,
    /// The subscript of an assignment: up to `]`.
    Subscript,
}

/// Whether tabs in front of lines are taken off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tabs {
    Kept,
    Stripped,
}
