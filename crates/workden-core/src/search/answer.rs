//! What list, glob and grep answer: always bounded, always saying what was left out and why.

use serde::{Deserialize, Serialize};

use super::{LineMatches, LineRole};
use crate::{Entry, NameForm, VirtualPath, setters::setters};

/// The content of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Listing {
    /// Directories first, each group by name.
    pub entries: Vec<Entry>,
    /// How many more there are.
    pub left_out: u64,
}

impl Listing {
    /// Creates a listing: puts entries in order and keeps the first `keep`.
    #[must_use]
    pub fn of(mut entries: Vec<Entry>, keep: usize) -> Self {
        entries.sort_unstable_by(|a, b| b.is_dir().cmp(&a.is_dir()).then_with(|| a.path.cmp(&b.path)));
        let left_out = entries.len().saturating_sub(keep) as u64;
        entries.truncate(keep);
        Self { entries, left_out }
    }
}

/// What a glob found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Globbed {
    /// Newest first, ties by path.
    pub entries: Vec<Entry>,
    /// How many more there are.
    pub left_out: u64,
    /// What was passed over.
    pub skipped: Skipped,
    /// Whether the search came to its end.
    pub completeness: Completeness,
}

impl Globbed {
    /// Creates an answer of a search that came to its end, with nothing left out or passed over.
    #[must_use]
    pub fn new(entries: Vec<Entry>) -> Self {
        Self { entries, ..Self::default() }
    }

    setters! {
        /// Sets how many more entries there are.
        left_out: u64,
        /// Sets what was passed over.
        skipped: Skipped,
        /// Sets whether the search came to its end.
        completeness: Completeness,
    }
}

/// What a grep found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grepped {
    /// The files that match, by path.
    pub files: Vec<FileMatches>,
    /// How many lines match, those left out included.
    pub matches: u64,
    /// How many files match, those left out included.
    pub files_matched: u64,
    /// How many files were searched.
    pub files_searched: u64,
    /// What was passed over.
    pub skipped: Skipped,
    /// Whether the search came to its end.
    pub completeness: Completeness,
    /// Files that were not searched because the request said [`Linked::Defer`](super::Linked::Defer);
    /// none for all other callers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubtful: Vec<VirtualPath>,
}

impl Grepped {
    /// How many lines are in the answer, those around the matches included.
    #[must_use]
    pub fn kept_lines(&self) -> usize {
        self.files.iter().map(|file| file.lines.len()).sum()
    }

    /// How many matching lines are not in the answer, of a search that keeps lines.
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
    /// Whether `path` spells its name as it is.
    #[serde(default)]
    pub name: NameForm,
    /// How many of its lines match.
    pub count: u64,
    /// Those lines, and the ones around them if asked for.
    #[serde(default, skip_serializing_if = "LineMatches::is_empty")]
    pub lines: LineMatches,
}

impl FileMatches {
    /// Creates the answer for a file of which `count` lines match, without the lines.
    #[must_use]
    pub fn new(path: VirtualPath, count: u64) -> Self {
        Self { path, name: NameForm::Exact, count, lines: LineMatches::default() }
    }

    setters! {
        /// Sets whether `path` spells its name as it is.
        name: NameForm,
        /// Sets the lines that match, and the ones around them.
        lines: LineMatches,
    }

    /// How many of the lines are matches, not context.
    #[must_use]
    pub fn matching_lines(&self) -> usize {
        self.lines.iter().filter(|line| line.role == LineRole::Match).count()
    }
}

/// Whether a search came to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// Everything was looked at.
    #[default]
    Complete,
    /// It found as much as it was told to find, and stopped.
    StoppedAtCeiling,
    /// Its time ran out.
    StoppedAtDeadline,
}

/// What a search passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skipped {
    /// Binary files.
    pub binary: u64,
    /// Files that would have to be approved first.
    pub needs_approval: u64,
    /// Files that the policy hides.
    pub denied: u64,
    /// Files and directories that could not be read.
    pub unreadable: u64,
    /// Files with a line (or, for a multi-line search, a size) beyond what is held in memory.
    pub too_large: u64,
}

impl std::ops::AddAssign for Skipped {
    fn add_assign(&mut self, other: Self) {
        self.binary += other.binary;
        self.needs_approval += other.needs_approval;
        self.denied += other.denied;
        self.unreadable += other.unreadable;
        self.too_large += other.too_large;
    }
}
