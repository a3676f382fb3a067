//! What a command can do to a file, and the operations whose rules that has to pass.

use crate::Operation;

/// What happens to a file.
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
    /// Whether it is only named, and nobody knows what becomes of it.
    pub(crate) fn is_only_named(self) -> bool {
        matches!(self, Self::Mention | Self::MentionedPath | Self::InCode)
    }

    /// The operations whose rules it has to pass.
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
