//! The effects of a command on a file, and the operations whose rules apply to each.

use crate::Operation;

/// An effect on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileEffect {
    /// Its name or its size is looked at.
    List,
    /// It is read.
    Read,
    /// It is written, or made.
    Write,
    /// It is read and changed.
    Edit,
    /// It is removed.
    Delete,
    /// It is read and removed.
    Move,
    /// It is named to a program that is not known.
    Mention,
    /// The same, by a path: it may be written as well.
    MentionedPath,
    /// It is named in code of another language.
    InCode,
}

impl FileEffect {
    /// Whether the file is only named, so that its use is unknown.
    pub(crate) fn is_only_named(self) -> bool {
        matches!(self, Self::Mention | Self::MentionedPath | Self::InCode)
    }

    /// Returns the operations whose rules apply.
    pub(crate) fn operations(self) -> &'static [Operation] {
        match self {
            Self::List => &[Operation::Ls],
            Self::Read | Self::Mention => &[Operation::Read],
            Self::Write => &[Operation::Write],
            Self::InCode | Self::MentionedPath => &[Operation::Read, Operation::Write],
            Self::Edit => &[Operation::Read, Operation::Edit],
            Self::Delete => &[Operation::Delete],
            Self::Move => &[Operation::Read, Operation::Delete],
        }
    }
}
