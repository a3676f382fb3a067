//! The requirements of a call, path by path, so that no call is a way around the refusal of another.

use workden_core::{Op, Resolved};

/// Something that has to be permitted at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// To learn that it is there, and what.
    Stat,
    /// To see the names in it.
    List,
    /// To find names below it.
    Glob,
    /// To find lines in it or below it.
    Grep,
    /// To read its content.
    Read,
    /// To read there, whatever the ending of the name.
    ReadAnything,
    /// To give it new content.
    Write,
    /// To change parts of its content; comes with `Read`.
    Change,
    /// To write there, whatever the ending of the name: it is a directory.
    MakeDir,
    /// To take it away, with everything below it.
    Remove,
}

/// Everything that a call needs.
pub(crate) fn requirements(op: Op<'_>) -> impl Iterator<Item = (Requirement, &Resolved)> {
    let all = match op {
        Op::Stat(at) => [Some((Requirement::Stat, at)), None, None],
        Op::List(at) => [Some((Requirement::List, at)), None, None],
        Op::Read(at) => [Some((Requirement::Read, at)), None, None],
        Op::Write(at) => [Some((Requirement::Write, at)), None, None],
        Op::Change(at) => [Some((Requirement::Change, at)), Some((Requirement::Read, at)), None],
        Op::MakeDir(at) => [Some((Requirement::MakeDir, at)), None, None],
        Op::Remove(at) => [Some((Requirement::Remove, at)), None, None],
        Op::Rename { from, to } => {
            [Some((Requirement::Read, from)), Some((Requirement::Remove, from)), Some((Requirement::Write, to))]
        }
        Op::Copy { from, to } => [Some((Requirement::Read, from)), Some((Requirement::Write, to)), None],
        Op::Glob(at) => [Some((Requirement::Glob, at)), None, None],
        Op::Grep(at) => [Some((Requirement::Grep, at)), None, None],
        // The requirements of a command follow from its line: `Policy::judge_execution`.
        Op::Execute(_) => [None, None, None],
    };
    all.into_iter().flatten()
}

/// An objection to a call, before it is known what is allowed elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// It is in no place that may be used.
    Outside,
    /// It is in a place that may only be read.
    ReadOnly,
    /// Files with this ending are not allowed there.
    Suffix { suffix: String, allowed: Vec<String> },
    /// A rule or a default denies it.
    Denied { operation: &'static str, description: String },
    /// The call requires approval.
    Asks { operation: &'static str, description: String },
}

impl Objection {
    /// Whether approval would be enough.
    pub(crate) fn is_ask(&self) -> bool {
        matches!(self, Self::Asks { .. })
    }

    /// The stricter of what two layers say; the first where they are equally strict.
    pub(crate) fn strictest(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (Some(first), Some(second)) if first.is_ask() && !second.is_ask() => Some(second),
            (None, second) => second,
            (first, _) => first,
        }
    }
}
