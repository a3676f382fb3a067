//! `Op` and `Gate`: a call as a value, and the interface that judges it.
//!
//! A gate only judges; it does not act on a call. [`Guarded`](crate::Guarded) alone acts on the judgement: it asks,
//! refuses, cuts off and records.

use std::{fmt, sync::Arc};

use async_trait::async_trait;

use super::Execution;
use crate::{Judgement, Resolved, Verdict, Visibility};

/// One call on a backend, as a value. No gate may have a wildcard arm for it: every gate must decide about a new kind
/// of call.
#[derive(Clone, Copy, Debug)]
pub enum Op<'a> {
    /// Describing an entry.
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
    /// Removing a file, a link or a directory.
    Remove(&'a Resolved),
    /// Moving: reading and removing the source, creating the destination.
    Rename {
        /// The source.
        from: &'a Resolved,
        /// The destination.
        to: &'a Resolved,
    },
    /// Copying: reading the source, creating the destination.
    Copy {
        /// The source.
        from: &'a Resolved,
        /// The destination.
        to: &'a Resolved,
    },
    /// Finding paths below a directory.
    Glob(&'a Resolved),
    /// Finding lines below a directory or in a file.
    Grep(&'a Resolved),
    /// Running a command: to its end, with streams or in the background.
    Execute(&'a Execution),
}

impl<'a> Op<'a> {
    /// Returns the name of the call, for records.
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

    /// Returns the operations that the call needs, by their names in a ruleset.
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

    /// Returns the paths of the call, the source first; for a command, its working directory.
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

    /// Returns the command, if the call runs one.
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

/// How a call accesses the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// The call reads the content.
    Read,
    /// The call writes the content.
    Write,
}

/// One concern that judges every call, such as a ruleset or the limits of a mount.
///
/// All gates judge every call, and the strictest verdict wins.
#[async_trait]
pub trait Gate: Send + Sync + fmt::Debug {
    /// Judges one call. A gate that has only a verdict returns `verdict.into()`.
    async fn judge(&self, op: Op<'_>) -> Judgement;

    /// Returns what a listing or search may show.
    fn visibility(&self, op: Op<'_>) -> Visibility;

    /// Returns the size in bytes of the largest file that may be read or written at a path; `None` for any size.
    ///
    /// This limit is for calls on single files. The limits of a search are in its [`Visibility`].
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

/// A gate that allows every call, for tests and for code that needs some gate.
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
