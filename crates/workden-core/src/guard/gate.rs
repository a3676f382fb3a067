//! `Op` and `Gate`: a call as a value, and what judges it.
//!
//! A gate only judges; it does nothing to a call. What follows from its words (asking, refusing,
//! cutting off, recording) is done in one place, by [`Guarded`](crate::Guarded).

use std::{fmt, sync::Arc};

use async_trait::async_trait;

use super::Execution;
use crate::{Judgement, Resolved, Verdict, Visibility};

/// One call on a backend, as a value. No gate may have a wildcard arm for it: a new kind of call
/// must make every gate decide.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// Saying what is there.
    Stat(&'a Resolved),
    /// Listing a directory.
    List(&'a Resolved),
    /// Reading content, as bytes or as text.
    Read(&'a Resolved),
    /// Writing a whole file.
    Write(&'a Resolved),
    /// Changing parts of a file: reading and writing it.
    Change(&'a Resolved),
    /// Making a directory.
    MakeDir(&'a Resolved),
    /// Removing.
    Remove(&'a Resolved),
    /// Moving: reading and removing the one, creating the other.
    Rename {
        /// What is moved.
        from: &'a Resolved,
        /// Where to.
        to: &'a Resolved,
    },
    /// Copying: reading the one, creating the other.
    Copy {
        /// What is copied.
        from: &'a Resolved,
        /// Where to.
        to: &'a Resolved,
    },
    /// Finding paths below a directory.
    Glob(&'a Resolved),
    /// Finding lines below a directory or in a file.
    Grep(&'a Resolved),
    /// Running a command, to its end, with streams or in the background.
    Execute(&'a Execution),
}

impl<'a> Op<'a> {
    /// The call in one word, for records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stat(_) => "stat",
            Self::List(_) => "list",
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Change(_) => "edit",
            Self::MakeDir(_) => "make_dir",
            Self::Remove(_) => "delete",
            Self::Rename { .. } => "move",
            Self::Copy { .. } => "copy",
            Self::Glob(_) => "glob",
            Self::Grep(_) => "grep",
            Self::Execute(_) => "execute",
        }
    }

    /// What the call demands, in the words of a ruleset.
    #[must_use]
    pub fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Stat(_) | Self::List(_) => &["ls"],
            Self::Read(_) => &["read"],
            Self::Write(_) | Self::MakeDir(_) => &["write"],
            Self::Change(_) => &["read", "edit"],
            Self::Remove(_) => &["delete"],
            Self::Rename { .. } => &["read", "delete", "write"],
            Self::Copy { .. } => &["read", "write"],
            Self::Glob(_) => &["glob"],
            Self::Grep(_) => &["grep"],
            Self::Execute(_) => &["execute"],
        }
    }

    /// The paths it is about, the source first; of a command, where it runs.
    pub fn paths(self) -> impl Iterator<Item = &'a Resolved> {
        let (first, second) = match self {
            Self::Stat(at)
            | Self::List(at)
            | Self::Read(at)
            | Self::Write(at)
            | Self::Change(at)
            | Self::MakeDir(at)
            | Self::Remove(at)
            | Self::Glob(at)
            | Self::Grep(at) => (at, None),
            Self::Rename { from, to } | Self::Copy { from, to } => (from, Some(to)),
            Self::Execute(execution) => (&execution.directory, None),
        };
        std::iter::once(first).chain(second)
    }

    /// The command, where one is to be run.
    #[must_use]
    pub fn execution(self) -> Option<&'a Execution> {
        match self {
            Self::Execute(execution) => Some(execution),
            Self::Stat(_)
            | Self::List(_)
            | Self::Read(_)
            | Self::Write(_)
            | Self::Change(_)
            | Self::MakeDir(_)
            | Self::Remove(_)
            | Self::Rename { .. }
            | Self::Copy { .. }
            | Self::Glob(_)
            | Self::Grep(_) => None,
        }
    }
}

/// What is done with the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

/// One concern that every call has to pass: a ruleset, the limits of a mount.
///
/// All gates judge every call, and the strictest verdict wins.
#[async_trait]
pub trait Gate: Send + Sync + fmt::Debug {
    /// Judges one call. A gate that only has a verdict answers `verdict.into()`.
    async fn judge(&self, op: Op<'_>) -> Judgement;

    /// What this listing or search may show.
    fn visibility(&self, op: Op<'_>) -> Visibility;

    /// The largest file, in bytes, that may be read or written at a path; `None` for any.
    ///
    /// It is for single files. What a search may open is in the [`Visibility`].
    fn most_bytes(&self, at: &Resolved, access: Access) -> Option<u64>;
}

#[async_trait]
impl<G: Gate + ?Sized> Gate for Arc<G> {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        (**self).judge(op).await
    }

    fn visibility(&self, op: Op<'_>) -> Visibility {
        (**self).visibility(op)
    }

    fn most_bytes(&self, at: &Resolved, access: Access) -> Option<u64> {
        (**self).most_bytes(at, access)
    }
}

/// A gate that objects to nothing: for tests, and where a gate has to stand.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpenGate;

#[async_trait]
impl Gate for OpenGate {
    async fn judge(&self, _: Op<'_>) -> Judgement {
        Verdict::Allow.into()
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}
