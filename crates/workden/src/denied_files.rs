//! Finds the existing files that a policy denies to read, so that a sandbox can mask them.
//!
//! Rules apply to every file call, but a command opens files by itself. A file that is denied when a sandbox starts is
//! masked there. A file that is created later is not masked, nor one that a rule only asks about; a masked file stays
//! masked even if the rules change.

use workden_core::{
    Backend, BackendExt, Completeness, Entry, ErrorKind, Link, Op, Resolved, Result, Verdict, VirtualPath, limits,
    search::{GlobKinds, GlobRequest, ListRequest},
};
use workden_policy::Policy;

/// The most files and directories that are visited; with more, the result is incomplete.
const LOOKED_AT: usize = 1_000_000;
/// How deep a directory is masked that contains directories which are nested too deep to be searched.
const MASKED_DEPTH: usize = 32;

/// The existing files that a policy denies to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeniedFiles {
    /// Their paths. Only files, not directories.
    pub paths: Vec<VirtualPath>,
    /// The paths of directories that could not be listed, or that are nested too deep to be searched, so that their
    /// content is unknown.
    pub closed: Vec<VirtualPath>,
    /// Whether all files were visited and all denied ones are listed. A caller that needs all of them must stop if not.
    pub completeness: Completeness,
}

/// Searches a directory for files that a policy denies to read, and returns at most `most`.
///
/// Links are skipped: their targets are visited at their own paths. If one name of a file is denied, all its names are
/// listed.
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
    let everything = GlobRequest::new("**").kinds(GlobKinds::Everything).keep(LOOKED_AT);
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

/// Returns the entries that are directories and cannot be listed, and the upper directories of those that are nested
/// too deep: a sandbox can mask a short path.
async fn closed_directories(files: &dyn Backend, entries: &[Entry]) -> Vec<VirtualPath> {
    let one = ListRequest::default().keep(1);
    let mut closed = Vec::new();
    for entry in entries.iter().filter(|entry| entry.is_dir() && entry.link == Link::Direct) {
        if entry.path.depth() >= limits::SEARCH_DEPTH {
            let above = std::iter::successors(Some(entry.path.clone()), VirtualPath::parent);
            closed.extend(above.into_iter().find(|above| above.depth() <= MASKED_DEPTH));
            continue;
        }
        match files.list_path(&entry.path, &one).await {
            Err(error) if error.kind() != ErrorKind::NotFound => closed.push(entry.path.clone()),
            _ => {}
        }
    }
    closed.sort();
    closed.dedup();
    closed
}
