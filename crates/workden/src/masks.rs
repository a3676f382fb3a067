//! Turns a policy into the walls of a sandbox: the files that its commands must not be able to open, or to change.
//!
//! Invariant: the list is complete. If not everything could be searched, the result is an error, since a sandbox with
//! some masks missing would be silently weaker. [`SandboxMasks`](crate::sandbox_masks::SandboxMasks) holds the list of
//! one sandbox.

use std::collections::BTreeSet;

use workden_core::{Completeness, Error, ErrorKind, Op, Resolved, Result, Verdict, VirtualPath, sandbox::Mount};
use workden_files::{CompositeBackend, LocalBackend, OpenMount, open_mounts};
use workden_policy::Policy;

use crate::denied_files;

/// The most paths that one sandbox can mask: each takes at least one kernel mount.
pub const MOST_MASKS: usize = 10_000;

/// Finds the files that a policy denies to read in the directories of a sandbox, to pass to `mask` of its builder.
/// Every name of such a file is listed, and a link to it leads to nothing readable. A directory that cannot be listed
/// is masked as a whole.
///
/// Files that are created later are not masked, nor those that the policy only asks about. Names that are not UTF-8
/// match no rule of a policy.
///
/// A [`Workspace`](crate::Workspace) that starts its own sandbox masks these files automatically.
///
/// # Errors
///
/// When a directory cannot be searched to its end, or more than [`MOST_MASKS`] files are denied.
pub async fn masks(shown: &[Mount], policy: &Policy) -> Result<Vec<VirtualPath>> {
    let walls = ShownFiles::of(&open_mounts(shown)?)?.walls(policy).await?;
    Ok(walls.masked.into_iter().collect())
}

/// The paths that the commands of a sandbox must not use in some way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walls {
    /// Paths that cannot be read.
    pub(crate) masked: BTreeSet<VirtualPath>,
    /// Paths that cannot be changed.
    pub(crate) read_only: BTreeSet<VirtualPath>,
}

impl Walls {
    pub(crate) fn extend(&mut self, other: Self) {
        self.masked.extend(other.masked);
        self.read_only.extend(other.read_only);
    }
}

/// The files of the host that the commands of a sandbox see, at the paths of file calls.
#[derive(Debug)]
pub(crate) struct ShownFiles {
    directories: Option<CompositeBackend>,
    /// The directories that are not in another one.
    places: Vec<VirtualPath>,
    /// Single files, which have their only name from their mount.
    files: Vec<VirtualPath>,
}

impl ShownFiles {
    /// Keeps the directories of these mounts open.
    pub(crate) fn of(opened: &[OpenMount]) -> Result<Self> {
        let (directories, files): (Vec<&OpenMount>, Vec<&OpenMount>) =
            opened.iter().partition(|mount| mount.is_directory());
        let files = files.into_iter().map(|mount| mount.at().clone()).collect();
        let all: Vec<&VirtualPath> = directories.iter().map(|mount| mount.at()).collect();
        let is_nested = |at: &VirtualPath| all.iter().any(|other| *other != at && at.is_within(other));
        let places = all.iter().copied().filter(|at| !is_nested(at)).cloned().collect();
        if directories.is_empty() {
            return Ok(Self { directories: None, places, files });
        }
        let mut mounts = CompositeBackend::builder();
        for mount in directories {
            mounts = mounts.mount(mount.at().as_str(), LocalBackend::options().open_mount(mount)?)?;
        }
        Ok(Self { directories: Some(mounts.build()), places, files })
    }

    /// Finds the files that a policy denies to read or to change.
    pub(crate) async fn walls(&self, policy: &Policy) -> Result<Walls> {
        let mut walls = Walls::default();
        if policy.is_empty() {
            return Ok(walls);
        }
        for file in &self.files {
            let at = Resolved::literal(file.clone());
            let denies = |op| matches!(policy.judge(op), Verdict::Deny(_));
            if denies(Op::Read(&at)) {
                walls.masked.insert(file.clone());
            } else if denies(Op::Write(&at)) || denies(Op::Change(&at)) {
                walls.read_only.insert(file.clone());
            }
        }
        let Some(files) = &self.directories else { return Ok(walls) };
        for at in &self.places {
            let found = denied_files(files, at, policy, MOST_MASKS).await?;
            if found.completeness != Completeness::Complete {
                return Err(not_all(found.completeness));
            }
            // Commands may have the rights to a directory that this process cannot list.
            walls.masked.extend(found.paths.into_iter().chain(found.closed));
            walls.read_only.extend(found.unchangeable);
        }
        Ok(walls)
    }
}

fn not_all(stopped: Completeness) -> Error {
    let (kind, why) = match stopped {
        Completeness::StoppedAtDeadline => (ErrorKind::TimedOut, "searching all files timed out".to_owned()),
        _ => (ErrorKind::TooLarge, format!("there are too many files, or more than {MOST_MASKS} that are denied")),
    };
    Error::new(kind, format!("cannot hold what the policy denies: {why}"))
        .hint("show a smaller directory, or mask whole directories by name with `masked`")
}
