//! The effects of a command on a file, and the operations whose rules apply to each.

use crate::Operation;

/// An effect on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileEffect {
    /// The command looks at the file's name or size.
    List,
    /// The command reads the file.
    Read,
    /// The command writes or creates the file.
    Write,
    /// The command reads and changes the file.
    Edit,
    /// The command removes the file.
    Delete,
    /// The command reads and removes the file.
    Move,
    /// An unknown program gets the name of the file.
    Mention,
    /// An unknown program gets the path of the file: it may write it as well.
    MentionedPath,
    /// Code of another language names the file.
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
