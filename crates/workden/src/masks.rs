//! Turns a policy into the masks of a sandbox: the files that its commands must not be able to open.
//!
//! Invariant: the list is complete. If not everything could be searched, the result is an error, since a sandbox with
//! some masks missing would be silently weaker. [`SandboxMasks`](crate::sandbox_masks::SandboxMasks) holds the list of
//! one sandbox.

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
    ShownFiles::of(&open_mounts(shown)?)?.masks(policy).await
}

/// The files of the host that the commands of a sandbox see, at the paths of file calls.
#[derive(Debug)]
pub(crate) struct ShownFiles {
    directories: Option<CompositeBackend>,
    /// Single files, which have their only name from their mount.
    files: Vec<VirtualPath>,
}

impl ShownFiles {
    /// Keeps the directories of these mounts open.
    pub(crate) fn of(opened: &[OpenMount]) -> Result<Self> {
        let (directories, files): (Vec<&OpenMount>, Vec<&OpenMount>) =
            opened.iter().partition(|mount| mount.is_directory());
        let files = files.into_iter().map(|mount| mount.at().clone()).collect();
        if directories.is_empty() {
            return Ok(Self { directories: None, files });
        }
        let mut mounts = CompositeBackend::builder();
        for mount in directories {
            mounts = mounts.mount(mount.at().as_str(), LocalBackend::options().open_mount(mount)?)?;
        }
        Ok(Self { directories: Some(mounts.build()), files })
    }

    /// Finds the files that a policy denies to read.
    pub(crate) async fn masks(&self, policy: &Policy) -> Result<Vec<VirtualPath>> {
        if policy.is_empty() {
            return Ok(Vec::new());
        }
        let is_denied = |at: &&VirtualPath| {
            let at = Resolved::literal((*at).clone());
            matches!(policy.judge(Op::Read(&at)), Verdict::Deny(_))
        };
        let mut all: Vec<VirtualPath> = self.files.iter().filter(is_denied).cloned().collect();
        if let Some(directories) = &self.directories {
            let found = denied_files(directories, &VirtualPath::root(), policy, MOST_MASKS).await?;
            if found.completeness != Completeness::Complete {
                return Err(not_all(found.completeness));
            }
            // Commands may have the rights to a directory that this process cannot list.
            all.extend(found.paths.into_iter().chain(found.closed));
        }
        all.sort();
        all.dedup();
        Ok(all)
    }
}

fn not_all(stopped: Completeness) -> Error {
    let (kind, why) = match stopped {
        Completeness::StoppedAtDeadline => (ErrorKind::TimedOut, "searching all files timed out".to_owned()),
        _ => (ErrorKind::TooLarge, format!("there are too many files, or more than {MOST_MASKS} that are denied")),
    };
    Error::new(kind, format!("cannot mask what the policy denies to read: {why}"))
        .hint("show a smaller directory, or mask whole directories by name with `masked`")
}
