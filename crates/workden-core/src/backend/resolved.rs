//! `Resolved`: a path as typed, its real path, and the entry that `resolve` saw.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::{Entry, VirtualPath};

/// A path as typed, and its real path after following links.
///
/// Rules look at both; I/O opens the real path. A `Resolved` also carries the entry that
/// [`resolve`](crate::Backend::resolve) saw, for the call that follows; if it is kept for later, it does not reflect
/// changes. Two resolved paths are equal if both of their paths are equal, and only the paths are serialised.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Resolved {
    /// The requested path.
    pub typed: VirtualPath,
    /// The path with all links followed.
    pub real: VirtualPath,
    #[serde(skip)]
    presence: Presence,
    #[serde(skip)]
    names: OtherNames,
    #[serde(skip)]
    seal: Seal,
}

/// The entry that `resolve` saw at a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// The backend did not look.
    #[default]
    Unknown,
    /// The path is missing.
    Absent,
    /// The path has this entry, the same as [`stat`](crate::Backend::stat) returns.
    Present(Entry),
}

impl Presence {
    /// Creates a presence from the result of a look: `Unknown` if it failed for another reason than absence.
    #[must_use]
    pub fn of(looked: crate::Result<Entry>) -> Self {
        match looked {
            Ok(entry) => Self::Present(entry),
            Err(error) if error.kind() == crate::ErrorKind::NotFound => Self::Absent,
            Err(_) => Self::Unknown,
        }
    }

    /// Returns the presence with its entry changed by `change`.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Entry) -> Entry) -> Self {
        match self {
            Self::Present(entry) => Self::Present(change(entry)),
            other => other,
        }
    }
}

/// Whether a file may have names in the workspace that its link count does not include.
#[derive(Clone, Copy, Debug, Default)]
enum OtherNames {
    /// Only the names in the link count.
    #[default]
    Counted,
    /// Another mount may show the same file.
    Possible,
}

/// Whether callers may see the presence.
#[derive(Clone, Copy, Debug, Default)]
enum Seal {
    #[default]
    Open,
    /// Only wrappers that judge the call may see it.
    Sealed,
}

impl Resolved {
    /// Creates a resolved path from the typed and the real path.
    #[must_use]
    pub fn new(typed: VirtualPath, real: VirtualPath) -> Self {
        Self { typed, real, presence: Presence::Unknown, names: OtherNames::Counted, seal: Seal::Open }
    }

    /// Creates a resolved path whose typed and real path are the same, as in a backend without links.
    #[must_use]
    pub fn literal(path: VirtualPath) -> Self {
        Self::new(path.clone(), path)
    }

    /// Sets the presence.
    #[must_use]
    pub fn with_presence(mut self, presence: Presence) -> Self {
        self.presence = presence;
        self
    }

    /// Marks that another mount may show the same file, whatever its link count.
    #[must_use]
    pub fn with_possible_aliases(mut self) -> Self {
        self.names = OtherNames::Possible;
        self
    }

    /// Returns the resolved path with other paths, and its entry changed by `entry`.
    #[must_use]
    pub fn relocated(self, typed: VirtualPath, real: VirtualPath, entry: impl FnOnce(Entry) -> Entry) -> Self {
        Self { typed, real, presence: self.presence.map(entry), ..self }
    }

    /// Returns the entry as far as `resolve` saw it; `Unknown` if the rules have not allowed showing it.
    #[must_use]
    pub fn presence(&self) -> &Presence {
        match self.seal {
            Seal::Open => &self.presence,
            Seal::Sealed => &Presence::Unknown,
        }
    }

    /// Whether the file may have another name in the workspace: a hard link, or another mount of its directory. True if
    /// nothing is known.
    #[must_use]
    pub fn may_have_other_names(&self) -> bool {
        match self.seal {
            Seal::Open => self.unjudged_other_names(),
            Seal::Sealed => true,
        }
    }

    /// Like `may_have_other_names`, for a wrapper that judges before it shows.
    pub(crate) fn unjudged_other_names(&self) -> bool {
        match (&self.presence, self.names) {
            (Presence::Absent, _) => false,
            (Presence::Present(entry), OtherNames::Counted) => entry.names > 1,
            (Presence::Present(_), OtherNames::Possible) | (Presence::Unknown, _) => true,
        }
    }

    /// Hides everything but the paths, for callers that have not passed the gates.
    pub(crate) fn sealed(mut self) -> Self {
        self.seal = Seal::Sealed;
        self
    }

    /// Returns the presence for a wrapper that judges before it shows.
    pub(crate) fn unjudged_presence(&self) -> &Presence {
        &self.presence
    }
}

impl PartialEq for Resolved {
    fn eq(&self, other: &Self) -> bool {
        self.real == other.real && self.typed == other.typed
    }
}

impl Eq for Resolved {}

impl Hash for Resolved {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.typed, &self.real).hash(state);
    }
}

/// Whether a symbolic link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symlink {
    /// The call is about the target of the link.
    Follow,
    /// The call is about the link itself.
    NoFollow,
}
