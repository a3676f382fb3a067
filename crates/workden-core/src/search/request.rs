//! What can be asked of list, glob and grep. Plain data: requests cross a wire.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Pattern, pattern};
use crate::{FileId, VirtualPath, Visibility, limits};

/// A listing of one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// A search for paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Files that match `pattern`: hidden and ignored ones too.
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
}

/// A search in files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Matching lines of what a programmer calls the project: no hidden and no ignored files.
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

    /// A search for a regular expression.
    pub fn regex(text: impl Into<String>) -> Self {
        Self::new(Pattern::regex(text))
    }

    /// A search for a text as it stands.
    pub fn literal(text: impl Into<String>) -> Self {
        Self::new(pattern::Pattern::literal(text))
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
pub struct Context {
    /// Lines before.
    pub before: usize,
    /// Lines after.
    pub after: usize,
}

/// How a backend's own paths look to the agent. A mount table sets it, so that rules and globs
/// see the paths that the agent sees, wherever the files are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// A second place where the agent sees a part of a backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alias {
    /// The part, as a path in the backend.
    pub local: VirtualPath,
    /// Where it is seen, too.
    pub seen: VirtualPath,
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
