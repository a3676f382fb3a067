//! Finds the existing files that a policy denies to read or to change, so that a sandbox can hold them.
//!
//! Rules apply to every file call, but a command opens files by itself. A file that is denied when a sandbox starts is
//! masked there, or read-only. A file that is created later is not, unless the policy denies everything in its
//! directory, nor one that a rule only asks about; what is held stays so even if the rules change.

use std::collections::BTreeSet;

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
    /// The paths that the policy denies to change: a directory if that is true for everything in it, and single files.
    pub unchangeable: Vec<VirtualPath>,
    /// Whether all files were visited and all denied ones are listed. A caller that needs all of them must stop if not.
    pub completeness: Completeness,
}

/// Searches a directory for files that a policy denies to read or to change, and returns at most `most` of each.
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
    let mut unchangeable = match policy.denies_changes_in(directory) {
        true => denied_changes(files, directory, &found.entries, policy).await?,
        false => Vec::new(),
    };
    let real = found.entries.into_iter().filter(|entry| !entry.is_dir() && entry.link == Link::Direct);
    let denied: Vec<Resolved> = real.map(|entry| entry.path).filter(is_denied).map(Resolved::literal).collect();
    let others = if denied.is_empty() { Vec::new() } else { files.other_names(&denied).await? };
    let mut paths: Vec<VirtualPath> =
        denied.into_iter().map(|file| file.real).chain(others.into_iter().flatten()).collect();
    paths.sort();
    paths.dedup();
    // What cannot be read cannot be changed either.
    unchangeable.retain(|path| paths.binary_search(path).is_err());
    if paths.len() > most || unchangeable.len() > most {
        paths.truncate(most);
        unchangeable.truncate(most);
        completeness = completeness.max(Completeness::StoppedAtCeiling);
    }
    Ok(DeniedFiles { paths, closed, unchangeable, completeness })
}

/// Returns the directories in which a policy denies every change, and the other files that it denies to change.
async fn denied_changes(
    files: &dyn Backend,
    directory: &VirtualPath,
    entries: &[Entry],
    policy: &Policy,
) -> Result<Vec<VirtualPath>> {
    let is_denied = |path: &VirtualPath| {
        let at = Resolved::literal(path.clone());
        [Op::Write(&at), Op::Change(&at)].into_iter().any(|op| matches!(policy.judge(op), Verdict::Deny(_)))
    };
    let real = || entries.iter().filter(|entry| entry.link == Link::Direct);
    // A directory with something in it that may be changed is not held as a whole.
    let mut open: BTreeSet<VirtualPath> = BTreeSet::new();
    let mut denied = Vec::new();
    for entry in real() {
        match is_denied(&entry.path) {
            true if entry.is_dir() => {}
            true => denied.push(Resolved::literal(entry.path.clone())),
            // What is in a directory decides about it.
            false if entry.is_dir() => {}
            false => open.extend(std::iter::successors(entry.path.parent(), VirtualPath::parent)),
        }
    }
    let directories = real().filter(|entry| entry.is_dir()).map(|entry| &entry.path).chain([directory]);
    let is_whole = |at: &&VirtualPath| !open.contains(*at) && new_files(at).all(|new| is_denied(&new));
    let mut held: Vec<VirtualPath> = directories.filter(is_whole).cloned().collect();
    held.sort_by_key(VirtualPath::depth);
    let others = if denied.is_empty() { Vec::new() } else { files.other_names(&denied).await? };
    let names = denied.into_iter().map(|file| file.real).chain(others.into_iter().flatten());
    let mut all: Vec<VirtualPath> = Vec::new();
    for path in held.into_iter().chain(names) {
        if !all.iter().any(|above| path.is_within(above)) {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// Returns names of files that a command could create in a directory.
fn new_files(directory: &VirtualPath) -> impl Iterator<Item = VirtualPath> {
    let directory = directory.clone();
    ["a", ".a", "a.b", "a/b"].into_iter().filter_map(move |name| VirtualPath::parse_from(&directory, name).ok())
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
