//! Where commands could run: what `cd` and `pushd` make of the working directory.
//!
//! Invariant: the real directory is always among the possible ones, or nobody knows. Both ways out
//! of a command are followed apart, since `cd x && y` runs `y` only where `cd` went.

use workden_core::VirtualPath;

use super::analysis::{Directories, Word};

/// How many directories are followed.
const MOST_DIRECTORIES: usize = 8;
/// The longest path that is followed.
const LONGEST: usize = 1_024;

/// Where the shell is after a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct After {
    pub(super) success: Directories,
    pub(super) failure: Directories,
}

impl After {
    /// After a command that goes nowhere.
    pub(super) fn same(directories: &Directories) -> Self {
        Self { success: directories.clone(), failure: directories.clone() }
    }

    /// However it went.
    pub(super) fn either(&self) -> Directories {
        union(&self.success, &self.failure)
    }
}

/// Any of both.
pub(super) fn union(one: &Directories, other: &Directories) -> Directories {
    let (Directories::AnyOf(one), Directories::AnyOf(other)) = (one, other) else { return Directories::Unknown };
    let mut all = one.clone();
    all.extend(other.iter().filter(|path| !one.contains(path)).cloned());
    if all.len() > MOST_DIRECTORIES { Directories::Unknown } else { Directories::AnyOf(all) }
}

/// Where this path leads, from each of these.
pub(super) fn joined(from: &Directories, to: &Word) -> Directories {
    let (Directories::AnyOf(from), Word::Literal(to)) = (from, to) else { return Directories::Unknown };
    if to.starts_with('~') || to.is_empty() || to.len() > LONGEST {
        return Directories::Unknown;
    }
    let mut all: Vec<VirtualPath> = Vec::new();
    for path in from {
        match VirtualPath::parse_from(path, to) {
            Ok(path) if path.as_str().len() <= LONGEST => {
                if !all.contains(&path) {
                    all.push(path);
                }
            }
            // Above the root the shell stays at the root, and what that is nobody knows here.
            _ => return Directories::Unknown,
        }
    }
    Directories::AnyOf(all)
}

/// What `cd`, `pushd` and `popd` do; nothing for any other command.
pub(super) fn moved(from: &Directories, argv: &[Word]) -> Option<After> {
    let [name, arguments @ ..] = argv else { return None };
    let to = match (name.literal()?, arguments) {
        ("cd", [Word::Literal(dashes), to]) if matches!(dashes.as_str(), "--" | "-L") => destination(from, to),
        ("cd" | "pushd", [to]) => destination(from, to),
        ("cd" | "pushd" | "popd", _) => Directories::Unknown,
        _ => return None,
    };
    Some(After { success: to, failure: from.clone() })
}

fn destination(from: &Directories, to: &Word) -> Directories {
    match to {
        Word::Literal(text) if text.starts_with(['-', '+']) => Directories::Unknown,
        _ => joined(from, to),
    }
}
