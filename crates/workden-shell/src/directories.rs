//! Where commands could run: what `cd` and `pushd` make of the working directory.
//!
//! Invariant: the real directory is always among the possible ones, or they are unknown. Both ways out
//! of a command are followed apart, since `cd x && y` runs `y` only where `cd` went.

use workden_core::VirtualPath;

use crate::analysis::{Word, WorkingDirectories};

/// How many directories are followed.
const MOST_DIRECTORIES: usize = 8;
/// The longest path that is followed.
const LONGEST: usize = 1_024;

/// Where the shell is after a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct After {
    pub(super) success: WorkingDirectories,
    pub(super) failure: WorkingDirectories,
}

impl After {
    /// After a command that goes nowhere.
    pub(super) fn same(directories: &WorkingDirectories) -> Self {
        Self { success: directories.clone(), failure: directories.clone() }
    }

    /// However it went.
    pub(super) fn either(&self) -> WorkingDirectories {
        union(&self.success, &self.failure)
    }
}

/// Any of both.
pub(super) fn union(one: &WorkingDirectories, other: &WorkingDirectories) -> WorkingDirectories {
    let (WorkingDirectories::AnyOf(one), WorkingDirectories::AnyOf(other)) = (one, other) else {
        return WorkingDirectories::Unknown;
    };
    let mut all = one.clone();
    all.extend(other.iter().filter(|path| !one.contains(path)).cloned());
    if all.len() > MOST_DIRECTORIES { WorkingDirectories::Unknown } else { WorkingDirectories::AnyOf(all) }
}

/// Where this path leads, from each of these.
pub(super) fn joined(from: &WorkingDirectories, to: &Word) -> WorkingDirectories {
    let (WorkingDirectories::AnyOf(from), Word::Literal(to)) = (from, to) else { return WorkingDirectories::Unknown };
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
            // Above its root the shell stays at the root, which may be another one than ours.
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
