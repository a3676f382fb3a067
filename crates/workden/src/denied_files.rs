//! What a policy denies to read, found in the files that exist: for a sandbox to mask.
//!
//! Rules go with every file call, but a command opens files by itself. What is denied when a sandbox
//! starts can be covered there by nothing readable. What is made later is not, nor what a rule would
//! only ask about; a file that is masked stays masked, whatever becomes of the rules.

use workden_core::{
    Backend, BackendExt, Completeness, Entry, ErrorKind, Link, Op, Resolved, Result, Verdict, VirtualPath,
    search::{GlobKinds, GlobRequest, ListRequest},
};
use workden_policy::Policy;

/// Files and directories that are looked at; where there are more, the answer is not complete.
const LOOKED_AT: usize = 1_000_000;

/// What a policy denies to read among the files that exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedFiles {
    /// Where they are, by path. Directories are not among them, only files.
    pub paths: Vec<VirtualPath>,
    /// Directories that could not be looked into, by path: nobody knows what is in them.
    pub closed: Vec<VirtualPath>,
    /// Whether all files were looked at, and all that are denied are here. Whoever needs all of them
    /// must not go on without.
    pub completeness: Completeness,
}

/// Looks for the files below a directory that a policy denies to read: `most` of them at most.
///
/// Links are passed over: what they lead to is looked at where it is. Of a file with several names, all
/// are there as soon as one is denied.
///
/// # Errors
///
/// When the directory cannot be searched.
pub async fn denied_files(
    files: &dyn Backend,
    directory: &VirtualPath,
    policy: &Policy,
    most: usize,
) -> Result<DeniedFiles> {
    if policy.is_empty() {
        return Ok(DeniedFiles::default());
    }
    let everything = GlobRequest { kinds: GlobKinds::Everything, keep: LOOKED_AT, ..GlobRequest::new("**") };
    let found = files.glob_path(directory, &everything).await?;
    let mut completeness = match found.left_out {
        0 => found.completeness,
        _ => found.completeness.max(Completeness::StoppedAtCeiling),
    };
    let is_denied = |path: &VirtualPath| {
        let at = Resolved::literal(path.clone());
        matches!(policy.judge(Op::Read(&at)), Verdict::Deny(_))
    };
    let closed = match found.skipped.unreadable {
        0 => Vec::new(),
        _ => closed_directories(files, &found.entries).await,
    };
    let real = found.entries.into_iter().filter(|entry| !entry.is_dir() && entry.link == Link::Direct);
    let denied: Vec<Resolved> = real.map(|entry| entry.path).filter(is_denied).map(Resolved::literal).collect();
    let others = if denied.is_empty() { Vec::new() } else { files.other_names(&denied).await? };
    let mut paths: Vec<VirtualPath> =
        denied.into_iter().map(|file| file.real).chain(others.into_iter().flatten()).collect();
    paths.sort();
    paths.dedup();
    if paths.len() > most {
        paths.truncate(most);
        completeness = completeness.max(Completeness::StoppedAtCeiling);
    }
    Ok(DeniedFiles { paths, closed, completeness })
}

/// Those among the entries that are directories and cannot be listed.
async fn closed_directories(files: &dyn Backend, entries: &[Entry]) -> Vec<VirtualPath> {
    let one = ListRequest { keep: 1, ..ListRequest::default() };
    let mut closed = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_dir() && entry.link == Link::Direct) {
        match files.list_path(&entry.path, &one).await {
            Err(error) if error.kind() != ErrorKind::NotFound => closed.push(entry.path.clone()),
            _ => {}
        }
    }
    closed.sort();
    closed
}
