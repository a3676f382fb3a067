//! The directories in which commands could run: the effects of `cd` and `pushd`.
//!
//! Invariant: the real directory is always among the possible ones, or they are unknown. Success and failure of a
//! command are tracked separately, because `cd x && y` runs `y` only in the new directory.

use workden_core::VirtualPath;

use crate::analysis::{Word, WorkingDirectories};

/// How many directories are tracked.
const MOST_DIRECTORIES: usize = 8;
/// The length of the longest path that is tracked.
const LONGEST: usize = 1_024;

/// The directory of the shell after a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct After {
    pub(super) success: WorkingDirectories,
    pub(super) failure: WorkingDirectories,
}

impl After {
    /// Returns the state after a command that does not change the directory.
    pub(super) fn same(directories: &WorkingDirectories) -> Self {
        Self { success: directories.clone(), failure: directories.clone() }
    }

    /// Returns the directories after success or failure.
    pub(super) fn either(&self) -> WorkingDirectories {
        union(&self.success, &self.failure)
    }
}

/// Returns the union of two sets of directories.
pub(super) fn union(one: &WorkingDirectories, other: &WorkingDirectories) -> WorkingDirectories {
    let (WorkingDirectories::AnyOf(one), WorkingDirectories::AnyOf(other)) = (one, other) else {
        return WorkingDirectories::Unknown;
    };
    let mut all = one.clone();
    all.extend(other.iter().filter(|path| !one.contains(path)).cloned());
    if all.len() > MOST_DIRECTORIES { WorkingDirectories::Unknown } else { WorkingDirectories::AnyOf(all) }
}

/// Returns the targets of this path from each of these directories.
pub(super) fn joined(from: &WorkingDirectories, to: &Word) -> WorkingDirectories {
    let to = match to {
        Word::Literal(to) => to,
        // A temporary directory, with letters and digits that do not matter.
        Word::Stamp(to) if to.starts_with("/tmp/") => to,
        _ => return WorkingDirectories::Unknown,
    };
    let WorkingDirectories::AnyOf(from) = from else { return WorkingDirectories::Unknown };
    if to.starts_with('~') || to.is_empty() || to.len() > LONGEST {
        return WorkingDirectories::Unknown;
    }
    let mut all: Vec<VirtualPath> = Vec::new();
    for path in from {
        match VirtualPath::parse_from(path, to) {
            Ok(path) if path.as_str().len() <= LONGEST => {
                if !all.contains(&path) {
                    all.push(path);
                }
            }
            // Above its root the shell stays at the root, which may be another root than the workspace's.
            _ => return WorkingDirectories::Unknown,
        }
    }
    WorkingDirectories::AnyOf(all)
}

/// Returns the effect of `cd`, `pushd` and `popd`; `None` for any other command.
pub(super) fn moved(from: &WorkingDirectories, argv: &[Word]) -> Option<After> {
    let [name, arguments @ ..] = argv else { return None };
    let to = match (name.literal()?, arguments) {
        ("cd", [Word::Literal(dashes), to]) if matches!(dashes.as_str(), "--" | "-L") => destination(from, to),
        ("cd" | "pushd", [to]) => destination(from, to),
        ("cd" | "pushd" | "popd", _) => WorkingDirectories::Unknown,
        _ => return None,
    };
    Some(After { success: to, failure: from.clone() })
}

fn destination(from: &WorkingDirectories, to: &Word) -> WorkingDirectories {
    match to {
        Word::Literal(text) if text.starts_with(['-', '+']) => WorkingDirectories::Unknown,
        _ => joined(from, to),
    }
}
