//! The requests of list, glob and grep. They are plain data, because they cross the wire.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Pattern, pattern};
use crate::{FileId, VirtualPath, Visibility, limits, setters::setters};

/// A listing of one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRequest {
    /// The limits on what may be listed.
    #[serde(default)]
    pub visibility: Visibility,
    /// How the agent sees the backend's paths.
    #[serde(default)]
    pub view: View,
    /// How many entries to return at most.
    pub keep: usize,
    /// The prefix of the attributes to return of each file; `None` for no attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<String>,
}

impl Default for ListRequest {
    fn default() -> Self {
        Self { visibility: Visibility::default(), view: View::default(), keep: limits::LIST_ENTRIES, attributes: None }
    }
}

impl ListRequest {
    setters! {
        /// Sets the limits on what may be listed.
        visibility: Visibility,
        /// Sets how the agent sees the backend's paths.
        view: View,
        /// Sets how many entries to return at most.
        keep: usize,
        /// Sets the prefix of the attributes to return of each file.
        attributes: impl Into<Option<String>>,
    }
}

/// A search for paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GlobRequest {
    /// The pattern: absolute if it starts with `/`, otherwise relative to the searched directory.
    pub pattern: String,
    /// Whether directories are returned as well.
    #[serde(default)]
    pub kinds: GlobKinds,
    /// Whether names that start with a dot are included; by default they are.
    pub hidden: Hidden,
    /// Whether `.gitignore` is honoured; by default it is not.
    pub ignore_files: IgnoreFiles,
    /// The limits on what may be listed.
    #[serde(default)]
    pub visibility: Visibility,
    /// How the agent sees the backend's paths.
    #[serde(default)]
    pub view: View,
    /// How many entries to return at most; all are counted.
    pub keep: usize,
    /// How long the search may take.
    pub deadline: Duration,
}

impl GlobRequest {
    /// Creates a search for files that match `pattern`, including hidden and ignored files.
    #[must_use]
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            kinds: GlobKinds::Files,
            hidden: Hidden::Include,
            ignore_files: IgnoreFiles::Disregard,
            visibility: Visibility::default(),
            view: View::default(),
            keep: limits::GLOB_ENTRIES,
            deadline: limits::SEARCH_TIME,
        }
    }

    setters! {
        /// Sets whether directories are returned as well.
        kinds: GlobKinds,
        /// Sets whether names that start with a dot are included.
        hidden: Hidden,
        /// Sets whether `.gitignore` is honoured.
        ignore_files: IgnoreFiles,
        /// Sets the limits on what may be listed.
        visibility: Visibility,
        /// Sets how the agent sees the backend's paths.
        view: View,
        /// Sets how many entries to return at most.
        keep: usize,
        /// Sets how long the search may take.
        deadline: Duration,
    }
}

/// A search for lines in files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GrepRequest {
    /// The pattern to search for.
    pub pattern: Pattern,
    /// The files to search: globs in the syntax of `rg --glob`, where a leading `!` excludes.
    #[serde(default)]
    pub filter: Vec<String>,
    /// Whether names that start with a dot are included; by default they are not.
    #[serde(default)]
    pub hidden: Hidden,
    /// Whether `.gitignore` is honoured; by default it is, inside repositories.
    #[serde(default)]
    pub ignore_files: IgnoreFiles,
    /// How much to return about each match.
    #[serde(default)]
    pub detail: Detail,
    /// How many lines to show around each match.
    #[serde(default)]
    pub context: Context,
    /// How many matching lines of one file to find at most.
    #[serde(default)]
    pub max_count: Option<u64>,
    /// The limits on what may be read.
    #[serde(default)]
    pub visibility: Visibility,
    /// How the agent sees the backend's paths.
    #[serde(default)]
    pub view: View,
    /// How many lines to return at most, the first ones by path; all matches are counted.
    pub keep: usize,
    /// How many matches to count before stopping.
    pub ceiling: u64,
    /// How many bytes of a line to return.
    pub line_bytes: usize,
    /// How long the search may take.
    pub deadline: Duration,
}

impl GrepRequest {
    /// Creates a search for matching lines that skips hidden and ignored files.
    #[must_use]
    pub fn new(pattern: Pattern) -> Self {
        Self {
            pattern,
            filter: Vec::new(),
            hidden: Hidden::Skip,
            ignore_files: IgnoreFiles::Honour,
            detail: Detail::Lines,
            context: Context::default(),
            max_count: None,
            visibility: Visibility::default(),
            view: View::default(),
            keep: limits::GREP_KEPT_LINES,
            ceiling: limits::GREP_MATCHES,
            line_bytes: limits::GREP_LINE_BYTES,
            deadline: limits::SEARCH_TIME,
        }
    }

    /// Creates a search for a regular expression.
    #[must_use]
    pub fn regex(text: impl Into<String>) -> Self {
        Self::new(Pattern::regex(text))
    }

    /// Creates a search for a literal text.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        Self::new(pattern::Pattern::literal(text))
    }

    /// Sets the files to search: globs in the syntax of `rg --glob`, where a leading `!` excludes.
    #[must_use]
    pub fn filter(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.filter = globs.into_iter().map(Into::into).collect();
        self
    }

    setters! {
        /// Sets whether names that start with a dot are included.
        hidden: Hidden,
        /// Sets whether `.gitignore` is honoured.
        ignore_files: IgnoreFiles,
        /// Sets how much to return about each match.
        detail: Detail,
        /// Sets how many lines to show around each match.
        context: Context,
        /// Sets how many matching lines of one file to find at most; `None` for all.
        max_count: impl Into<Option<u64>>,
        /// Sets the limits on what may be read.
        visibility: Visibility,
        /// Sets how the agent sees the backend's paths.
        view: View,
        /// Sets how many lines to return at most.
        keep: usize,
        /// Sets how many matches to count before stopping.
        ceiling: u64,
        /// Sets how many bytes of a line to return.
        line_bytes: usize,
        /// Sets how long the search may take.
        deadline: Duration,
    }
}

/// Whether names that start with a dot are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hidden {
    /// Skip hidden names.
    #[default]
    Skip,
    /// Include hidden names.
    Include,
}

/// Whether `.gitignore` files are honoured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoreFiles {
    /// Skip ignored files inside repositories.
    #[default]
    Honour,
    /// Search ignored files, too.
    Disregard,
}

/// The kinds of entries that a glob returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GlobKinds {
    /// Files, and links to files.
    #[default]
    Files,
    /// Directories, broken links and special files as well.
    Everything,
}

/// How much a grep returns about each match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// The matching lines.
    #[default]
    Lines,
    /// The paths of the files that match: each file is searched up to its first match.
    Paths,
    /// The paths of the files that match, and the number of matches in each.
    Counts,
}

/// The number of context lines around a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Context {
    /// Lines before the match.
    pub before: usize,
    /// Lines after the match.
    pub after: usize,
}

impl Context {
    /// Creates a context of this many lines before and after a match.
    #[must_use]
    pub fn new(before: usize, after: usize) -> Self {
        Self { before, after }
    }
}

/// How the agent sees a backend's paths. A mount table sets the view, so that rules and globs apply to the paths that
/// the agent sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct View {
    /// The prefix of the backend's paths.
    pub prefix: VirtualPath,
    /// The only directory of the backend that the agent sees, at `prefix`; `/` for the whole backend.
    #[serde(default = "VirtualPath::root", skip_serializing_if = "VirtualPath::is_root")]
    pub part: VirtualPath,
    /// The start of the search as the agent sees it, if it is not the searched directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<VirtualPath>,
    /// The paths of other mounts as the agent sees them: the search does not enter these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadowed: Vec<VirtualPath>,
    /// Other paths at which the agent sees the same files, through other mounts: rules for those paths apply, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<Alias>,
    /// How a search under rules treats files with several names.
    #[serde(default)]
    pub linked: Linked,
}

impl View {
    /// Returns a path of the backend as the agent sees it.
    #[must_use]
    pub fn seen(&self, local: &VirtualPath) -> VirtualPath {
        // Paths outside the part are not shown, but rules may still be asked about them.
        local.strip_prefix(&self.part).unwrap_or_else(|| local.clone()).below(&self.prefix)
    }

    /// Returns the backend's path for a path that the agent sees; `None` if it is in another backend.
    #[must_use]
    pub fn local(&self, seen: &VirtualPath) -> Option<VirtualPath> {
        Some(seen.strip_prefix(&self.prefix)?.below(&self.part))
    }

    setters! {
        /// Sets the prefix of the backend's paths.
        prefix: VirtualPath,
        /// Sets the directory of the backend that the agent sees at `prefix`.
        part: VirtualPath,
        /// Sets the start of the search as the agent sees it; `None` for the searched directory.
        base: impl Into<Option<VirtualPath>>,
        /// Sets the paths of other mounts as the agent sees them.
        shadowed: Vec<VirtualPath>,
        /// Sets the other paths at which the agent sees the same files.
        aliases: Vec<Alias>,
        /// Sets how a search under rules treats files with several names.
        linked: Linked,
    }
}

/// Another path at which the agent sees a directory of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Alias {
    /// The path in the backend.
    pub local: VirtualPath,
    /// The other path that the agent sees.
    pub seen: VirtualPath,
}

impl Alias {
    /// Creates an alias: the agent sees the directory `local` of the backend also at `seen`.
    #[must_use]
    pub fn new(local: VirtualPath, seen: VirtualPath) -> Self {
        Self { local, seen }
    }
}

/// How a grep under rules treats files with several names (hard links), any of which a rule may hide.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Linked {
    /// Look up their other names in this backend, and search the files of which no name is hidden.
    #[default]
    Look,
    /// Search none of them, and list them in `Grepped::doubtful`: the caller knows further names.
    Defer,
    /// Search only these, whose names the caller has checked; the skipped ones are counted already.
    Cleared(Vec<FileId>),
}

impl Default for View {
    fn default() -> Self {
        Self {
            prefix: VirtualPath::root(),
            part: VirtualPath::root(),
            base: None,
            shadowed: Vec::new(),
            aliases: Vec::new(),
            linked: Linked::Look,
        }
    }
}
