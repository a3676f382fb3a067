//! Removing by descriptor: no link is followed, and an entry that is swapped in meanwhile is removed itself, inside the
//! root.

use std::{
    ffi::{CStr, CString},
    ops::ControlFlow,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags},
    io::Errno,
};
use workden_core::{
    Error, Removal, Result, VirtualPath,
    names::{TEMPORARY_PREFIX, is_temporary},
};

use super::{
    Inner,
    errors::refused,
    lock::{DirectoryId, DirectoryLock, identify},
    names_in::for_each_raw_name,
    root::{Root, kind},
};

pub(super) fn remove(inner: &Inner, real: &VirtualPath, what: Removal) -> Result<()> {
    let failed = |errno| refused("remove", real, errno);
    let (directory, name) = inner.root.parent(real).map_err(failed)?.ok_or_else(|| Error::root_stays("remove"))?;
    let directory = directory.as_fd();
    inner.root.check_gone("remove", real)?;
    if is_temporary(name.as_bytes()) {
        return Err(failed(Errno::NOENT));
    }
    let lock = DirectoryLock::take(directory).map_err(failed)?;
    let parent = real.parent().unwrap_or_else(VirtualPath::root);
    lock.check_place(&inner.root, &parent, directory).map_err(failed)?;
    let stat = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    let removed = match (kind(&stat), what) {
        (FileType::Directory, Removal::Tree) => remove_tree(directory, name),
        (FileType::Directory, Removal::One) => remove_empty(&inner.root, directory, real),
        _ => fs::unlinkat(directory, name, AtFlags::empty()),
    };
    removed.map_err(failed)?;
    inner.durability.sync_names(directory).map_err(failed)
}

/// Removes one directory, including the temporary file that a dead writer may have left in it.
fn remove_empty(root: &Root, directory: BorrowedFd<'_>, real: &VirtualPath) -> Result<(), Errno> {
    let name = real.name().unwrap_or_default();
    match fs::unlinkat(directory, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            clear_leftovers(root, directory, real);
            fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
        }
        removed => removed,
    }
}

fn clear_leftovers(root: &Root, directory: BorrowedFd<'_>, real: &VirtualPath) {
    let Ok(inside) = root.step_into(directory, real) else { return };
    // If the lock is taken, its holder is alive, and the directory is not empty.
    let Ok(_lock) = DirectoryLock::take_if_free(inside.as_fd()) else { return };
    let _ = fs::unlinkat(&inside, format!("{TEMPORARY_PREFIX}0"), AtFlags::empty());
}

/// A directory on the current path: its id, its remaining subdirectories, and its name.
struct Level {
    id: DirectoryId,
    below: Vec<CString>,
    name: CString,
}

/// Removes a tree with one descriptor, because a tree may have more levels than a process has descriptors.
fn remove_tree(above: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    let top = CString::new(name).map_err(|_| Errno::INVAL)?;
    let mut at = open_directory(above, &top)?;
    let mut levels = vec![empty_out(at.as_fd(), top)?];
    while let Some(level) = levels.last_mut() {
        if let Some(next) = level.below.pop() {
            match open_directory(at.as_fd(), &next) {
                Ok(fd) => {
                    levels.push(empty_out(fd.as_fd(), next)?);
                    at = fd;
                }
                // The directory was swapped for something else meanwhile, which is removed.
                Err(Errno::NOTDIR | Errno::LOOP) => fs::unlinkat(&at, &next, AtFlags::empty())?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        } else if let Some(emptied) = levels.pop() {
            let removed = match levels.last() {
                None => fs::unlinkat(above, &emptied.name, AtFlags::REMOVEDIR),
                Some(parent) => {
                    at = go_up(at.as_fd(), parent.id)?;
                    fs::unlinkat(&at, &emptied.name, AtFlags::REMOVEDIR)
                }
            };
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
    Ok(())
}

/// Opens the parent directory, if it is still the expected one.
fn go_up(at: BorrowedFd<'_>, expected: DirectoryId) -> Result<OwnedFd, Errno> {
    let above = open_directory(at, c"..")?;
    if identify(above.as_fd())? == expected { Ok(above) } else { Err(Errno::STALE) }
}

/// Removes everything but the subdirectories of a directory, and returns those.
fn empty_out(fd: BorrowedFd<'_>, name: CString) -> Result<Level, Errno> {
    let mut below = Vec::new();
    let mut failure = None;
    for_each_raw_name(fd, |name, _| {
        match fs::unlinkat(fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            // For a directory, Linux returns the first error, other systems return the second.
            Err(Errno::ISDIR | Errno::PERM) if is_directory(fd, name) => below.push(name.to_owned()),
            Err(errno) => {
                failure = Some(errno);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    match failure {
        Some(errno) => Err(errno),
        None => Ok(Level { id: identify(fd)?, below, name }),
    }
}

fn open_directory(at: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    fs::openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn is_directory(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| kind(&stat) == FileType::Directory)
}
