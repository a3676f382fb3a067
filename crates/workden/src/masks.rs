//! From a policy to the masks of a sandbox: which of the files that commands will be shown they must
//! not be able to open.
//!
//! Invariant: what is answered is all there is. Where not everything could be looked at, the answer is
//! an error, since a sandbox with some of its masks would be one that is silently weaker.

use workden_core::{Completeness, Error, ErrorKind, Op, Resolved, Result, Verdict, VirtualPath, sandbox::Mount};
use workden_files::{CompositeBackend, LocalBackend};
use workden_policy::Policy;

use crate::denied_files;

/// Places that one sandbox can have masked: each takes a mount or more of the kernel.
pub const MOST_MASKS: usize = 10_000;

/// Finds what a policy denies to read among the files that a sandbox is about to show to commands: for
/// `mask` of its builder. Every name of such a file is there, and a link that leads to it leads to
/// nothing readable. A directory that cannot be looked into is there as a whole.
///
/// What is made later is not masked, nor what the policy would only ask about. Names that are not
/// UTF-8 are none that a policy could speak of.
///
/// A [`Workspace`](crate::Workspace) that starts its sandbox itself masks them without being told.
///
/// # Errors
///
/// When a directory cannot be searched to its end, or more than [`MOST_MASKS`] files are denied.
pub async fn masks(shown: &[Mount], policy: &Policy) -> Result<Vec<VirtualPath>> {
    if shown.is_empty() || policy.is_empty() {
        return Ok(Vec::new());
    }
    // What is no directory has its only name from its mount.
    let (directories, files): (Vec<&Mount>, Vec<&Mount>) = shown.iter().partition(|mount| mount.source.is_dir());
    let is_denied = |at: &VirtualPath| {
        let at = Resolved::literal(at.clone());
        matches!(policy.judge(Op::Read(&at)), Verdict::Deny(_))
    };
    let mut all: Vec<VirtualPath> = files.iter().map(|mount| mount.at.clone()).filter(is_denied).collect();
    if !directories.is_empty() {
        let mut places = CompositeBackend::builder();
        for mount in directories {
            let directory = LocalBackend::options().open_for(&mount.at, &mount.source)?;
            places = places.mount(mount.at.as_str(), directory)?;
        }
        let found = denied_files(&places.build(), &VirtualPath::root(), policy, MOST_MASKS).await?;
        if found.completeness != Completeness::Complete {
            return Err(not_all(found.completeness));
        }
        // Whoever has the rights to a directory can open it, and that may be the commands.
        all.extend(found.paths.into_iter().chain(found.closed));
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn not_all(stopped: Completeness) -> Error {
    let (kind, why) = match stopped {
        Completeness::StoppedAtDeadline => (ErrorKind::TimedOut, "looking through all files took too long".to_owned()),
        _ => (ErrorKind::TooLarge, format!("there are too many files, or more than {MOST_MASKS} that are denied")),
    };
    Error::new(kind, format!("cannot mask what the policy denies to read: {why}"))
        .hint("show a smaller directory, or mask whole directories by name with `masked`")
}
