//! `Resolved`: a path as it was typed, the one it really is, and what `resolve` saw there.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::{Entry, VirtualPath};

/// A path as it was typed, and the one it really is after following links.
///
/// Rules look at both; I/O opens the real one. It also carries what [`resolve`](crate::Backend::resolve)
/// saw at the path, for the call that follows; a resolved path that is kept for later does not learn of
/// changes. Two resolved paths are equal when both of their paths are, and only the paths are serialised.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Resolved {
    /// The path that was asked for.
    pub typed: VirtualPath,
    /// Where that is, links followed.
    pub real: VirtualPath,
    #[serde(skip)]
    presence: Presence,
    #[serde(skip)]
    names: OtherNames,
    #[serde(skip)]
    seal: Seal,
}

/// What `resolve` saw at the end of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// The backend did not look.
    #[default]
    Unknown,
    /// Nothing is there.
    Absent,
    /// This is there; the same as [`stat`](crate::Backend::stat) answers.
    Present(Entry),
}

impl Presence {
    /// The outcome of a look at a path: `Unknown` when it failed for another reason than absence.
    #[must_use]
    pub fn of(looked: crate::Result<Entry>) -> Self {
        match looked {
            Ok(entry) => Self::Present(entry),
            Err(error) if error.kind() == crate::ErrorKind::NotFound => Self::Absent,
            Err(_) => Self::Unknown,
        }
    }

    /// The same, with the entry changed by `change`.
    #[must_use]
    pub fn map(self, change: impl FnOnce(Entry) -> Entry) -> Self {
        match self {
            Self::Present(entry) => Self::Present(change(entry)),
            other => other,
        }
    }
}

/// Whether a file may have names in the workspace that its link count does not tell of.
#[derive(Clone, Copy, Debug, Default)]
enum OtherNames {
    /// Only those that the link count tells of.
    #[default]
    Counted,
    /// Another mount may show the same file.
    Possible,
}

/// Whether what was seen may be shown.
#[derive(Clone, Copy, Debug, Default)]
enum Seal {
    #[default]
    Open,
    /// Only wrappers that judge the call may look at it.
    Sealed,
}

impl Resolved {
    /// A path as typed and as it really is.
    #[must_use]
    pub fn new(typed: VirtualPath, real: VirtualPath) -> Self {
        Self { typed, real, presence: Presence::Unknown, names: OtherNames::Counted, seal: Seal::Open }
    }

    /// A path that is what it says, as in a backend without links.
    #[must_use]
    pub fn literal(path: VirtualPath) -> Self {
        Self::new(path.clone(), path)
    }

    /// Adds what is there.
    #[must_use]
    pub fn with_presence(mut self, presence: Presence) -> Self {
        self.presence = presence;
        self
    }

    /// Says that another mount may show the same file, whatever its link count.
    #[must_use]
    pub fn with_possible_aliases(mut self) -> Self {
        self.names = OtherNames::Possible;
        self
    }

    /// The same paths seen from elsewhere: each path and the entry's path changed by a function.
    #[must_use]
    pub fn relocated(self, typed: VirtualPath, real: VirtualPath, entry: impl FnOnce(Entry) -> Entry) -> Self {
        Self { typed, real, presence: self.presence.map(entry), ..self }
    }

    /// What is there, as far as `resolve` said; `Unknown` where rules have not let it be shown.
    #[must_use]
    pub fn presence(&self) -> &Presence {
        match self.seal {
            Seal::Open => &self.presence,
            Seal::Sealed => &Presence::Unknown,
        }
    }

    /// Whether the file may have another name in the workspace: a hard link, or another mount of its
    /// directory. True where nothing is known of it.
    #[must_use]
    pub fn may_have_other_names(&self) -> bool {
        match self.seal {
            Seal::Open => self.unjudged_other_names(),
            Seal::Sealed => true,
        }
    }

    /// The same, for a wrapper that judges before it shows.
    pub(crate) fn unjudged_other_names(&self) -> bool {
        match (&self.presence, self.names) {
            (Presence::Absent, _) => false,
            (Presence::Present(entry), OtherNames::Counted) => entry.names > 1,
            (Presence::Present(_), OtherNames::Possible) | (Presence::Unknown, _) => true,
        }
    }

    /// The same for callers who have not passed the gates: they see the paths only.
    pub(crate) fn sealed(mut self) -> Self {
        self.seal = Seal::Sealed;
        self
    }

    /// What is there, for a wrapper that judges before it shows.
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
    /// The call is about what the link leads to.
    Follow,
    /// The call is about the link itself.
    NoFollow,
}
