//! Removing by descriptor: no link is followed, and what is swapped in meanwhile is removed as what
//! it is, inside the root.

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
    Removal, Result, VirtualPath,
    names::{TEMPORARY_PREFIX, is_temporary},
};

use super::{
    Inner,
    errors::{refused, root_stays},
    lock::DirectoryLock,
    names_in::for_each_raw_name,
    root::{kind, step_into},
};

/// Levels that a removal may go down: it holds a descriptor for each.
const DEEPEST_TREE: usize = 512;

pub(super) fn remove(inner: &Inner, real: &VirtualPath, what: Removal) -> Result<()> {
    let failed = |errno| refused("remove", real, errno);
    let (directory, name) = inner.root.parent(real).map_err(failed)?.ok_or_else(|| root_stays("remove"))?;
    let directory = directory.as_fd();
    if is_temporary(name.as_bytes()) {
        return Err(failed(Errno::NOENT));
    }
    let _lock = DirectoryLock::take(directory).map_err(failed)?;
    let stat = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
    let removed = match (kind(&stat), what) {
        (FileType::Directory, Removal::Tree) => remove_tree(directory, name),
        (FileType::Directory, Removal::One) => {
            clear_leftovers(directory, name);
            fs::unlinkat(directory, name, AtFlags::REMOVEDIR)
        }
        _ => fs::unlinkat(directory, name, AtFlags::empty()),
    };
    removed.map_err(failed)?;
    inner.durability.sync_names(directory).map_err(failed)
}

/// Removes a temporary file that a dead writer left in an otherwise empty directory.
fn clear_leftovers(directory: BorrowedFd<'_>, name: &str) {
    let Ok(inside) = step_into(directory, name) else { return };
    let Ok(_lock) = DirectoryLock::take(inside.as_fd()) else { return };
    let _ = fs::unlinkat(&inside, format!("{TEMPORARY_PREFIX}0"), AtFlags::empty());
}

/// A directory on the way down: what is left to enter in it, and its own name.
struct Level {
    fd: OwnedFd,
    below: Vec<CString>,
    name: CString,
}

fn remove_tree(above: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    let top = CString::new(name).map_err(|_| Errno::INVAL)?;
    let mut open = vec![empty_out(open_directory(above, &top)?, top)?];
    loop {
        let depth = open.len();
        let Some(level) = open.last_mut() else { return Ok(()) };
        if let Some(next) = level.below.pop() {
            match open_directory(level.fd.as_fd(), &next) {
                Ok(fd) if depth < DEEPEST_TREE => open.push(empty_out(fd, next)?),
                Ok(_) => return Err(Errno::MFILE),
                // Swapped for something else meanwhile: remove that.
                Err(Errno::NOTDIR | Errno::LOOP) => fs::unlinkat(&level.fd, &next, AtFlags::empty())?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        } else if let Some(emptied) = open.pop() {
            let parent = open.last().map_or(above, |level| level.fd.as_fd());
            match fs::unlinkat(parent, &emptied.name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
    }
}

/// Removes all but the directories in a directory, and takes note of those.
fn empty_out(fd: OwnedFd, name: CString) -> Result<Level, Errno> {
    let mut below = Vec::new();
    let mut failure = None;
    for_each_raw_name(&fd, |name, _| {
        match fs::unlinkat(&fd, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            // Linux says the first of a directory, others the second.
            Err(Errno::ISDIR | Errno::PERM) if is_directory(fd.as_fd(), name) => below.push(name.to_owned()),
            Err(errno) => {
                failure = Some(errno);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })?;
    match failure {
        Some(errno) => Err(errno),
        None => Ok(Level { fd, below, name }),
    }
}

fn open_directory(at: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    fs::openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn is_directory(directory: BorrowedFd<'_>, name: &CStr) -> bool {
    fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| kind(&stat) == FileType::Directory)
}
