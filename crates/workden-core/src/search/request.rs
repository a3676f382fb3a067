//! What can be asked of list, glob and grep. Plain data: requests cross a wire.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Pattern, pattern};
use crate::{FileId, VirtualPath, Visibility, limits, setters::setters};

/// A listing of one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ListRequest {
    /// What may be listed.
    #[serde(default)]
    pub visibility: Visibility,
    /// How the backend's paths look to the agent.
    #[serde(default)]
    pub view: View,
    /// How many entries to return at most.
    pub keep: usize,
}

impl Default for ListRequest {
    fn default() -> Self {
        Self { visibility: Visibility::default(), view: View::default(), keep: limits::LIST_ENTRIES }
    }
}

impl ListRequest {
    setters! {
        /// Sets what may be listed.
        visibility: Visibility,
        /// Sets how the backend's paths look to the agent.
        view: View,
        /// Sets how many entries to return at most.
        keep: usize,
    }
}

/// A search for paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GlobRequest {
    /// The pattern, relative to the directory searched, or absolute when it starts with `/`.
    pub pattern: String,
    /// Files only, or directories as well.
    #[serde(default)]
    pub kinds: GlobKinds,
    /// What to do about names that start with a dot; they are included unless told otherwise.
    pub hidden: Hidden,
    /// What to do about `.gitignore`; it is disregarded unless told otherwise.
    pub ignore_files: IgnoreFiles,
    /// What may be listed.
    #[serde(default)]
    pub visibility: Visibility,
    /// How the backend's paths look to the agent.
    #[serde(default)]
    pub view: View,
    /// How many entries to return at most; all are counted.
    pub keep: usize,
    /// How long it may take.
    pub deadline: Duration,
}

impl GlobRequest {
    /// Creates a search for files that match `pattern`, hidden and ignored ones included.
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
        /// Sets what to do about names that start with a dot.
        hidden: Hidden,
        /// Sets what to do about `.gitignore`.
        ignore_files: IgnoreFiles,
        /// Sets what may be listed.
        visibility: Visibility,
        /// Sets how the backend's paths look to the agent.
        view: View,
        /// Sets how many entries to return at most.
        keep: usize,
        /// Sets how long the search may take.
        deadline: Duration,
    }
}

/// A search in files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GrepRequest {
    /// What to look for.
    pub pattern: Pattern,
    /// Which files to look in: globs as `rg --glob` takes them, `!` in front for "not these".
    #[serde(default)]
    pub filter: Vec<String>,
    /// What to do about names that start with a dot; they are skipped unless told otherwise.
    #[serde(default)]
    pub hidden: Hidden,
    /// What to do about `.gitignore`; it is honoured in repositories unless told otherwise.
    #[serde(default)]
    pub ignore_files: IgnoreFiles,
    /// How much to say about each match.
    #[serde(default)]
    pub detail: Detail,
    /// How many lines to show around each match.
    #[serde(default)]
    pub context: Context,
    /// How many matching lines of one file to find at most.
    #[serde(default)]
    pub max_count: Option<u64>,
    /// What may be read.
    #[serde(default)]
    pub visibility: Visibility,
    /// How the backend's paths look to the agent.
    #[serde(default)]
    pub view: View,
    /// How many lines to return at most, the first ones by path; all are counted.
    pub keep: usize,
    /// How many matches to count before stopping.
    pub ceiling: u64,
    /// How many bytes of a line to return.
    pub line_bytes: usize,
    /// How long it may take.
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

    /// Sets which files to look in: globs as `rg --glob` takes them, `!` in front for "not these".
    #[must_use]
    pub fn filter(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.filter = globs.into_iter().map(Into::into).collect();
        self
    }

    setters! {
        /// Sets what to do about names that start with a dot.
        hidden: Hidden,
        /// Sets what to do about `.gitignore`.
        ignore_files: IgnoreFiles,
        /// Sets how much to say about each match.
        detail: Detail,
        /// Sets how many lines to show around each match.
        context: Context,
        /// Sets how many matching lines of one file to find at most; `None` for all.
        max_count: impl Into<Option<u64>>,
        /// Sets what may be read.
        visibility: Visibility,
        /// Sets how the backend's paths look to the agent.
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

/// What to do about names that start with a dot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hidden {
    /// Leave them out.
    #[default]
    Skip,
    /// Treat them as any other.
    Include,
}

/// What to do about `.gitignore` files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoreFiles {
    /// Leave out what they name, inside repositories.
    #[default]
    Honour,
    /// Take no notice of them.
    Disregard,
}

/// What a glob returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GlobKinds {
    /// Files, and links to files.
    #[default]
    Files,
    /// Directories, broken links and special files as well.
    Everything,
}

/// How much a grep says about each match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// The matching lines.
    #[default]
    Lines,
    /// Only which files match: each is searched up to its first match.
    Paths,
    /// Which files match, and how often.
    Counts,
}

/// How many lines to show around a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Context {
    /// Lines before.
    pub before: usize,
    /// Lines after.
    pub after: usize,
}

impl Context {
    /// Creates a context of this many lines before and after a match.
    #[must_use]
    pub fn new(before: usize, after: usize) -> Self {
        Self { before, after }
    }
}

/// How a backend's own paths look to the agent. A mount table sets it, so that rules and globs
/// see the paths that the agent sees, wherever the files are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct View {
    /// What stands before the backend's paths.
    pub prefix: VirtualPath,
    /// The directory of the backend that is seen at `prefix`, and nothing outside of it; `/` for all.
    #[serde(default = "VirtualPath::root", skip_serializing_if = "VirtualPath::is_root")]
    pub part: VirtualPath,
    /// Where the search started, as the agent sees it, if not at the directory searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<VirtualPath>,
    /// What other mounts cover, as the agent sees it: not to be entered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadowed: Vec<VirtualPath>,
    /// Where else the agent sees the same files, by other mounts of them: rules on those paths hold,
    /// too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<Alias>,
    /// What to do about files with several names where rules are to be kept.
    #[serde(default)]
    pub linked: Linked,
}

impl View {
    /// A path of the backend as the agent sees it.
    #[must_use]
    pub fn seen(&self, local: &VirtualPath) -> VirtualPath {
        // Nothing outside of the part is shown; rules may still be asked about it.
        local.strip_prefix(&self.part).unwrap_or_else(|| local.clone()).below(&self.prefix)
    }

    /// The path in the backend of what the agent sees at a path; `None` when that is elsewhere.
    #[must_use]
    pub fn local(&self, seen: &VirtualPath) -> Option<VirtualPath> {
        Some(seen.strip_prefix(&self.prefix)?.below(&self.part))
    }

    setters! {
        /// Sets what stands before the backend's paths.
        prefix: VirtualPath,
        /// Sets the directory of the backend that is seen at `prefix`.
        part: VirtualPath,
        /// Sets where the search started, as the agent sees it; `None` for the directory searched.
        base: impl Into<Option<VirtualPath>>,
        /// Sets what other mounts cover, as the agent sees it.
        shadowed: Vec<VirtualPath>,
        /// Sets where else the agent sees the same files.
        aliases: Vec<Alias>,
        /// Sets what to do about files with several names.
        linked: Linked,
    }
}

/// A second place where the agent sees a part of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Alias {
    /// The part, as a path in the backend.
    pub local: VirtualPath,
    /// Where it is seen, too.
    pub seen: VirtualPath,
}

impl Alias {
    /// Creates an alias: the part at `local` in the backend is seen at `seen`, too.
    #[must_use]
    pub fn new(local: VirtualPath, seen: VirtualPath) -> Self {
        Self { local, seen }
    }
}

/// What a grep under rules does about files with several names (hard links), of which a rule may
/// hide any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Linked {
    /// Look at their other names in this backend; search those of which no name is hidden.
    #[default]
    Look,
    /// Search none, and name them in `Grepped::doubtful`: others know more names.
    Defer,
    /// Search these, whose names are all known, and no others; they are counted already.
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
