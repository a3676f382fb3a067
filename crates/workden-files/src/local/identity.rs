//! File identities: which names lead to the same file.
//!
//! The search for names opens directories by descriptor below the root, like every walk.

use std::{
    collections::HashMap,
    ffi::CStr,
    ops::ControlFlow,
    os::fd::{AsFd, BorrowedFd},
    sync::atomic::AtomicBool,
};

use rustix::{
    fs::{self, AtFlags, FileType},
    io::Errno,
};
use workden_core::{
    Completeness, Error, ErrorKind, FileId, FileIdentity, Result, VirtualPath, limits, search::GlobRequest,
};

use super::{
    entries::{self, shown_name},
    errors::refused,
    file_id::file_id,
    root::{Root, kind},
    walk::{Brake, Names, OpenDirectory, Visitor, walk},
};
use crate::search::WalkFilter;

/// Returns the identity of the file at a path, with all directories above it.
pub(super) fn identify(root: &Root, real: &VirtualPath) -> Result<FileIdentity> {
    let failed = |errno| refused("look at", real, errno);
    let Some((directory, name)) = root.parent(real).map_err(failed)? else {
        let itself = root.directory(real).map_err(failed)?;
        let mut above = upwards(itself.as_fd()).map_err(failed)?;
        let file = above.remove(0);
        return Ok(FileIdentity::new(file, above, 1));
    };
    let stat = fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    let above = upwards(directory.as_fd()).map_err(failed)?;
    Ok(FileIdentity::new(file_id(&stat), above, entries::names(&stat)))
}

/// Returns the ids of a directory and its parents, up to the root of the host. They are not opened.
fn upwards(directory: BorrowedFd<'_>) -> Result<Vec<FileId>, Errno> {
    let itself = file_id(&fs::fstat(directory)?);
    climb(itself, |above| fs::statat(directory, above, AtFlags::SYMLINK_NOFOLLOW).map(|stat| file_id(&stat)))
}

/// Like `upwards`, without waiting for a file system that would ask a server.
#[cfg(target_os = "linux")]
pub(super) fn upwards_at_hand(directory: BorrowedFd<'_>) -> Option<Vec<FileId>> {
    use rustix::fs::{StatxFlags, makedev, statx};

    use super::file_id::scrambled;

    let itself = file_id(&fs::fstat(directory).ok()?);
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    // The parents of an open directory stay in memory while it is open.
    let look = |above: String| {
        let stat = statx(directory, above, flags, StatxFlags::INO)?;
        Ok(scrambled((makedev(stat.stx_dev_major, stat.stx_dev_minor), stat.stx_ino)))
    };
    climb(itself, look).ok()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn upwards_at_hand(_: BorrowedFd<'_>) -> Option<Vec<FileId>> {
    None
}

fn climb(itself: FileId, look: impl Fn(String) -> Result<FileId, Errno>) -> Result<Vec<FileId>, Errno> {
    let mut ids = vec![itself];
    // The kernel accepts paths of 4,096 bytes.
    for steps in 1..1_300 {
        match look("../".repeat(steps)) {
            // The root of the host is its own parent.
            Ok(id) if ids.last() != Some(&id) => ids.push(id),
            // No mount can be above the directories that may be seen.
            Ok(_) | Err(_) => return Ok(ids),
        }
    }
    // A partial list of parents would be mistaken for a complete one.
    Err(Errno::NAMETOOLONG)
}

/// Whether a search is needed to know that a file has no name here.
pub(super) fn may_be_here(root: &Root, file: &FileIdentity) -> bool {
    file.names > 1 || file.file == root.id() || file.above.contains(&root.id())
}

/// Returns the names of each file below the root.
pub(super) fn names_of(root: &Root, files: &[FileIdentity], abandoned: &AtomicBool) -> Result<Vec<Vec<VirtualPath>>> {
    let linked: Vec<FileId> = files.iter().filter(|file| file.names > 1).map(|file| file.file).collect();
    let found = if linked.is_empty() { HashMap::new() } else { find(root, &linked, abandoned)? };
    let names = files.iter().map(|file| match file.names {
        0 | 1 => descend(root, file).map(|name| name.into_iter().collect()),
        _ => Ok(found.get(&file.file).cloned().unwrap_or_default()),
    });
    names.collect()
}

/// Returns the other names of the files at these paths.
pub(super) fn other_names(root: &Root, reals: &[VirtualPath], abandoned: &AtomicBool) -> Result<Vec<Vec<VirtualPath>>> {
    let ids: Vec<Option<FileId>> = reals.iter().map(|real| linked_file(root, real)).collect();
    let linked: Vec<FileId> = ids.iter().copied().flatten().collect();
    if linked.is_empty() {
        return Ok(vec![Vec::new(); reals.len()]);
    }
    let found = find(root, &linked, abandoned)?;
    let others = ids.iter().zip(reals).map(|(id, real)| {
        let names = id.and_then(|id| found.get(&id)).cloned().unwrap_or_default();
        names.into_iter().filter(|name| name != real).collect()
    });
    Ok(others.collect())
}

/// Returns the id of the file at a path, if it has several names.
fn linked_file(root: &Root, real: &VirtualPath) -> Option<FileId> {
    let (directory, name) = root.parent(real).ok()??;
    let stat = fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    (entries::names(&stat) > 1).then(|| file_id(&stat))
}

/// Returns the name of a file or directory with one name: descends from the root through the known directories.
fn descend(root: &Root, file: &FileIdentity) -> Result<Option<VirtualPath>> {
    if file.file == root.id() {
        return Ok(Some(VirtualPath::root()));
    }
    let Some(depth) = file.above.iter().position(|id| *id == root.id()) else { return Ok(None) };
    let mut at = VirtualPath::root();
    for wanted in file.above[..depth].iter().rev().chain([&file.file]) {
        match named(root, &at, *wanted) {
            Ok(Some(name)) => at = at.child_unchecked(&name),
            // The file was moved or removed meanwhile.
            Ok(None) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(refused("look at", &at, errno)),
        }
    }
    Ok(Some(at))
}

/// Returns the name of a file in a directory, by its id.
fn named(root: &Root, directory: &VirtualPath, wanted: FileId) -> Result<Option<String>, Errno> {
    let opened = root.directory(directory)?;
    let mut found = None;
    root.for_each_name_in(directory, &opened, |name, _| match entries::stat_name(opened.as_fd(), name) {
        Ok(stat) if file_id(&stat) == wanted => {
            found = Some(shown_name(name).0.into_owned());
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    Ok(found)
}

/// Finds all names of files with several names.
fn find(root: &Root, wanted: &[FileId], abandoned: &AtomicBool) -> Result<HashMap<FileId, Vec<VirtualPath>>> {
    let screen = WalkFilter::for_glob(&GlobRequest::new("**"), &VirtualPath::root())?;
    let brake = Brake::new(limits::SEARCH_TIME, abandoned);
    let visitors = walk(root, &screen, &VirtualPath::root(), &brake, || Finder { wanted, found: Vec::new() });
    if brake.completeness() != Completeness::Complete {
        return Err(Error::new(
            ErrorKind::TimedOut,
            "the file has several names, and it took too long to look for the others",
        )
        .hint("copy it outside of workden, so that it has one name"));
    }
    let mut found: HashMap<FileId, Vec<VirtualPath>> = HashMap::new();
    for (id, path) in visitors.into_iter().flat_map(|visitor| visitor.found) {
        found.entry(id).or_default().push(path);
    }
    found.values_mut().for_each(|names| names.sort());
    Ok(found)
}

struct Finder<'a> {
    wanted: &'a [FileId],
    found: Vec<(FileId, VirtualPath)>,
}

impl Visitor for Finder<'_> {
    fn visit(&mut self, directory: &OpenDirectory, names: &Names) {
        for (name, _) in names.iter().filter(|(_, kind)| *kind == FileType::RegularFile) {
            let Ok(stat) = entries::stat_name(directory.fd.as_fd(), name) else { continue };
            if kind(&stat) != FileType::RegularFile || entries::names(&stat) < 2 {
                continue;
            }
            let id = file_id(&stat);
            if self.wanted.contains(&id) {
                self.found.push((id, directory.context.local.child_unchecked(&shown_name(name).0)));
            }
        }
    }

    fn enters(&mut self, _: &OpenDirectory, _: &CStr, _: &VirtualPath) -> bool {
        true
    }

    fn unreadable(&mut self) {}
}
