//! The mount table: the parts of a workspace that may be used, with limits.
//!
//! Invariant: the most specific mount of a path decides alone, and paths are looked up in their normal form, so that no
//! spelling evades a mount.

use serde::{Deserialize, Serialize};
use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    suffix::{self, Suffixes},
};

use crate::requirement::{Objection, Requirement};

/// The limits of one mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MountRules {
    /// The path of the mount.
    pub at: VirtualPath,
    /// Whether the mount may be written.
    #[serde(default)]
    pub access: MountMode,
    /// The only suffixes that files may have (`md` or `.md`; an empty one for files without a suffix); absent for all.
    /// An empty list allows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffixes: Option<Vec<String>>,
    /// The largest file that may be read or written, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_file_bytes: Option<u64>,
    /// Whether reading requires approval.
    #[serde(default)]
    pub read_approval: MountApproval,
    /// Whether writing requires approval.
    #[serde(default)]
    pub write_approval: MountApproval,
}

/// Whether a mount may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum MountMode {
    /// The mount may only be read.
    #[default]
    #[serde(rename = "ro")]
    ReadOnly,
    /// The mount may be read and written.
    #[serde(rename = "rw")]
    ReadWrite,
}

/// Whether a call requires approval; `true` and `false` in a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "bool"))]
#[serde(from = "bool", into = "bool")]
pub enum MountApproval {
    /// The call does not require approval.
    #[default]
    NotNeeded,
    /// The call requires approval.
    Needed,
}

impl From<bool> for MountApproval {
    fn from(is_needed: bool) -> Self {
        if is_needed { Self::Needed } else { Self::NotNeeded }
    }
}

impl From<MountApproval> for bool {
    fn from(approval: MountApproval) -> Self {
        approval == MountApproval::Needed
    }
}

impl MountRules {
    /// Returns a mount that may only be read, without other limits.
    #[must_use]
    pub fn read_only(at: VirtualPath) -> Self {
        Self {
            at,
            access: MountMode::ReadOnly,
            suffixes: None,
            max_file_bytes: None,
            read_approval: MountApproval::NotNeeded,
            write_approval: MountApproval::NotNeeded,
        }
    }

    /// Returns a mount that may be read and written, without other limits.
    #[must_use]
    pub fn read_write(at: VirtualPath) -> Self {
        Self { access: MountMode::ReadWrite, ..Self::read_only(at) }
    }
}

/// A table of mounts, in the order of the configuration.
#[derive(Clone, Debug, Default)]
pub struct MountTable {
    mounts: Vec<Mount>,
}

#[derive(Clone, Debug)]
struct Mount {
    rules: MountRules,
    suffixes: Option<Suffixes>,
}

impl MountTable {
    /// Returns a table of these mounts; an empty table allows nothing.
    ///
    /// # Errors
    ///
    /// Returns `AlreadyExists` if two mounts have the same path, and `InvalidArgument` if a suffix has a wildcard.
    pub fn new(mounts: Vec<MountRules>) -> Result<Self> {
        for (nth, mount) in mounts.iter().enumerate() {
            if mounts[..nth].iter().any(|other| other.at == mount.at) {
                return Err(Error::new(ErrorKind::AlreadyExists, format!("Duplicate mount point: '{}'", mount.at))
                    .hint("give each mount a path of its own"));
            }
        }
        let endings = mounts.iter().flat_map(|mount| mount.suffixes.iter().flatten());
        if let Some(wrong) = endings.into_iter().find(|ending| ending.contains(['*', '/', '?'])) {
            let sentence = format!("invalid suffix `{}`", wrong.escape_debug());
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("write it like `.md`"));
        }
        let mount = |rules: MountRules| Mount { suffixes: rules.suffixes.as_deref().map(Suffixes::new), rules };
        Ok(Self { mounts: mounts.into_iter().map(mount).collect() })
    }

    /// Returns the mounts in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &MountRules> {
        self.mounts.iter().map(|mount| &mount.rules)
    }

    /// Returns the most specific mount of a path.
    #[must_use]
    pub fn find(&self, path: &VirtualPath) -> Option<&MountRules> {
        self.mount_of(path).map(|mount| &mount.rules)
    }

    fn mount_of(&self, path: &VirtualPath) -> Option<&Mount> {
        let around = self.mounts.iter().filter(|mount| path.is_within(&mount.rules.at));
        around.max_by_key(|mount| mount.rules.at.depth())
    }

    pub(crate) fn object(&self, requirement: Requirement, path: &VirtualPath) -> Option<Objection> {
        let Some(mount) = self.mount_of(path) else {
            let leads_to_one = self.iter().any(|mount| mount.at.is_within(path));
            let only_looks =
                matches!(requirement, Requirement::Stat | Requirement::List | Requirement::Glob | Requirement::Grep);
            return if only_looks && leads_to_one { None } else { Some(Objection::Outside) };
        };
        match requirement {
            Requirement::Stat | Requirement::List | Requirement::Glob => None,
            Requirement::Grep | Requirement::ReadAnything => mount.asks_to_read(),
            Requirement::Read => mount.object_to_ending(path).or_else(|| mount.asks_to_read()),
            Requirement::Write | Requirement::Change => {
                mount.object_to_writing().or_else(|| mount.object_to_ending(path)).or_else(|| mount.asks_to_write())
            }
            Requirement::MakeDir => mount.object_to_writing().or_else(|| mount.asks_to_write()),
            Requirement::Remove => self.object_to_removing(mount, path),
        }
    }

    /// Returns the objection to removing a path, which removes all mounts below it as well.
    fn object_to_removing(&self, mount: &Mount, path: &VirtualPath) -> Option<Objection> {
        let within = || self.mounts.iter().filter(|other| other.rules.at != *path && other.rules.at.is_within(path));
        let all = || std::iter::once(mount).chain(within());
        // A name without a suffix may be a directory, to which lists of suffixes do not apply.
        let ending = || {
            let is_clear = !suffix::of(path.name().unwrap_or("")).is_empty()
                || mount.suffixes.as_ref().is_some_and(Suffixes::allow_nothing);
            if is_clear { mount.object_to_ending(path) } else { None }
        };
        all().find_map(Mount::object_to_writing).or_else(ending).or_else(|| all().find_map(Mount::asks_to_write))
    }
}

impl Mount {
    fn object_to_writing(&self) -> Option<Objection> {
        (self.rules.access == MountMode::ReadOnly).then_some(Objection::ReadOnly)
    }

    fn object_to_ending(&self, path: &VirtualPath) -> Option<Objection> {
        let name = path.name().unwrap_or("");
        let suffixes = self.suffixes.as_ref()?;
        let allowed = self.rules.suffixes.clone().unwrap_or_default();
        (!suffixes.allow(name)).then(|| Objection::Suffix { suffix: suffix::of(name), allowed })
    }

    fn asks_to_read(&self) -> Option<Objection> {
        let description = || format!("reading in `{}` requires approval", self.rules.at);
        (self.rules.read_approval == MountApproval::Needed)
            .then(|| Objection::Asks { operation: "read", description: description() })
    }

    fn asks_to_write(&self) -> Option<Objection> {
        let description = || format!("writing in `{}` requires approval", self.rules.at);
        (self.rules.write_approval == MountApproval::Needed)
            .then(|| Objection::Asks { operation: "write", description: description() })
    }
}
