//! The answers of list, glob and grep: bounded, with the number of omitted results and the reason.

use serde::{Deserialize, Serialize};

use super::{LineMatches, LineRole};
use crate::{Entry, NameForm, VirtualPath, setters::setters};

/// The content of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Listing {
    /// The entries: directories first, each group by name.
    pub entries: Vec<Entry>,
    /// How many further entries the directory has.
    pub left_out: u64,
}

impl Listing {
    /// Sorts the entries and keeps the first `keep`.
    #[must_use]
    pub fn of(mut entries: Vec<Entry>, keep: usize) -> Self {
        entries.sort_unstable_by(|a, b| b.is_dir().cmp(&a.is_dir()).then_with(|| a.path.cmp(&b.path)));
        let left_out = entries.len().saturating_sub(keep) as u64;
        entries.truncate(keep);
        Self { entries, left_out }
    }
}

/// The result of a glob.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Globbed {
    /// The entries: newest first, ties by path.
    pub entries: Vec<Entry>,
    /// How many further entries match.
    pub left_out: u64,
    /// The skipped files.
    pub skipped: Skipped,
    /// Whether the search reached its end.
    pub completeness: Completeness,
}

impl Globbed {
    /// Creates the answer of a complete search that left out and skipped nothing.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        Self { entries, ..Self::default() }
    }

    setters! {
        /// Sets how many further entries match.
        left_out: u64,
        /// Sets the skipped files.
        skipped: Skipped,
        /// Sets whether the search reached its end.
        completeness: Completeness,
    }
}

/// The result of a grep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grepped {
    /// The files with matches, by path.
    pub files: Vec<FileMatches>,
    /// How many lines match, including omitted ones.
    pub matches: u64,
    /// How many files match, including omitted ones.
    pub files_matched: u64,
    /// How many files were searched.
    pub files_searched: u64,
    /// The skipped files.
    pub skipped: Skipped,
    /// Whether the search reached its end.
    pub completeness: Completeness,
    /// Files that were not searched because of [`Linked::Defer`](super::Linked::Defer) in the request; empty for all
    /// other requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful: Vec<VirtualPath>,
}

impl Grepped {
    /// Returns the number of lines in the answer, including context.
    #[must_use]
    pub fn kept_lines(&self) -> usize {
        self.files.iter().map(|file| file.lines.len()).sum()
    }

    /// Returns the number of matching lines that the answer omits, for a search that keeps lines.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        let kept: usize = self.files.iter().map(FileMatches::matching_lines).sum();
        self.matches.saturating_sub(kept as u64)
    }
}

/// The matches in one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FileMatches {
    /// The file.
    pub path: VirtualPath,
    /// Whether `path` spells the name exactly.
    #[serde(default)]
    pub name: NameForm,
    /// How many lines of the file match.
    pub count: u64,
    /// The matching lines, and the requested context.
    #[serde(default, skip_serializing_if = "LineMatches::is_empty")]
    pub lines: LineMatches,
}

impl FileMatches {
    /// Creates the answer for a file with `count` matching lines, without the lines.
    #[must_use]
    pub fn new(path: VirtualPath, count: u64) -> Self {
        Self { path, name: NameForm::Exact, count, lines: LineMatches::default() }
    }

    setters! {
        /// Sets whether `path` spells the name exactly.
        name: NameForm,
        /// Sets the matching lines and their context.
        lines: LineMatches,
    }

    /// Returns the number of lines that match, without context.
    #[must_use]
    pub fn matching_lines(&self) -> usize {
        self.lines.iter().filter(|line| line.role == LineRole::Match).count()
    }
}

/// Whether a search reached its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// The search reached its end.
    #[default]
    Complete,
    /// The search stopped at its limit of matches.
    StoppedAtCeiling,
    /// The search stopped at its deadline.
    StoppedAtDeadline,
}

/// The files that a search skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skipped {
    /// Binary files.
    pub binary: u64,
    /// Files that need approval.
    pub needs_approval: u64,
    /// Files that the policy hides.
    pub denied: u64,
    /// Files and directories that could not be read.
    pub unreadable: u64,
    /// Files with a line (or, for a multi-line search, a size) beyond the memory limit.
    pub too_large: u64,
    /// Files that `.gitignore` ignores. A glob counts those that match; a grep counts none.
    #[serde(default)]
    pub ignored_files: u64,
    /// Directories that `.gitignore` ignores and that a glob did not enter, although something in them may match.
    #[serde(default)]
    pub ignored_directories: u64,
}

impl std::ops::AddAssign for Skipped {
    fn add_assign(&mut self, other: Self) {
        self.binary += other.binary;
        self.needs_approval += other.needs_approval;
        self.denied += other.denied;
        self.unreadable += other.unreadable;
        self.too_large += other.too_large;
        self.ignored_files += other.ignored_files;
        self.ignored_directories += other.ignored_directories;
    }
}
