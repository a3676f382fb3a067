//! The requirements of a call, path by path, so that no call bypasses the refusal of another.

use workden_core::{Op, Resolved};

/// An access that the policy must permit at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// To describe the entry.
    Stat,
    /// To list the names in the directory.
    List,
    /// To find names below the directory.
    Glob,
    /// To find lines in the file or below the directory.
    Grep,
    /// To read the content.
    Read,
    /// To read there, whatever the suffix of the name.
    ReadAnything,
    /// To write new content.
    Write,
    /// To change parts of the content; comes with `Read`.
    Change,
    /// To write there, whatever the suffix of the name: it is a directory.
    MakeDir,
    /// To remove the entry, with everything below it.
    Remove,
}

/// Returns all requirements of a call.
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

/// An objection to a call, before the allowed alternatives are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// The path is in no part of the workspace that may be used.
    Outside,
    /// The path may only be read.
    ReadOnly,
    /// Files with this suffix are not allowed there.
    Suffix { suffix: String, allowed: Vec<String> },
    /// A rule or a default denies the call.
    Denied { operation: &'static str, description: String },
    /// The call requires approval.
    Asks { operation: &'static str, description: String },
}

impl Objection {
    /// Whether approval would permit the call.
    pub(crate) fn is_ask(&self) -> bool {
        matches!(self, Self::Asks { .. })
    }

    /// Returns the stricter objection of two layers; the first if both are equally strict.
    pub(crate) fn strictest(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (Some(first), Some(second)) if first.is_ask() && !second.is_ask() => Some(second),
            (None, second) => second,
            (first, _) => first,
        }
    }
}
