//! Protected paths: read-only ones are covered by a read-only clone of themselves, masked ones by an empty file or
//! directory that cannot be read.
//!
//! Invariant: a path is protected if it exists when the sandbox starts, not if it appears later. A protected path
//! stays where it is: the directories above it can be neither moved nor removed.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, StatxAttributes, StatxFlags, fstat, openat, readlinkat, statx},
    io::Errno,
};
use workden_core::{Error, VirtualPath};

use super::{
    detached_mounts::{attach, clone_of_open},
    errors::at_place,
    root::NewRoot,
};
use crate::sys::confine::{MountScope, attribute, set_mount_attributes};

/// The covers of files and directories: empty, and unreadable.
pub(super) struct EmptyMounts {
    pub(super) file: OwnedFd,
    pub(super) directory: OwnedFd,
}

impl EmptyMounts {
    /// Creates the covers in the root's own file system, which becomes read-only.
    pub(super) fn new(root: &NewRoot) -> Result<Self, Errno> {
        root.directory("run")?;
        root.file("run/nothing", b"", 0)?;
        root.closed_directory("run/empty")?;
        Ok(Self { file: read_only(root, "run/nothing")?, directory: read_only(root, "run/empty")? })
    }

    /// Covers these paths. Links are followed: their target is covered.
    pub(super) fn mask(&self, places: &[VirtualPath]) -> Result<(), Error> {
        for path in places {
            let covered = open(path).and_then(|place| {
                let Some(place) = place.map(pin_in_place).transpose()? else { return Ok(()) };
                let cover = match FileType::from_raw_mode(fstat(&place)?.st_mode) {
                    FileType::Directory => self.directory.as_fd(),
                    _ => self.file.as_fd(),
                };
                attach(clone_of_open(cover)?, place)
            });
            covered.map_err(|errno| at_place(path.as_str(), errno))?;
        }
        Ok(())
    }
}

/// Mounts a path read-only over itself, so that clones of it are read-only, too.
fn read_only(root: &NewRoot, path: &str) -> Result<OwnedFd, Errno> {
    let place = root.place(path)?;
    let tree = clone_of_open(&place)?;
    set_mount_attributes(&tree, MountScope::Mount, attribute::READ_ONLY, None)?;
    attach(tree, place)?;
    root.place(path)
}

/// Makes these paths read-only, with all mounts below them. For a path below a file, the file is made read-only, so
/// that no command can put a directory in its place.
pub(super) fn make_read_only(places: &[VirtualPath]) -> Result<(), Error> {
    for path in places {
        let covered = open_or_what_is_above(path).and_then(|place| {
            let Some(place) = place.map(pin_in_place).transpose()? else { return Ok(()) };
            let tree = clone_of_open(&place)?;
            set_mount_attributes(&tree, MountScope::Tree, attribute::READ_ONLY, None)?;
            attach(tree, place)
        });
        covered.map_err(|errno| at_place(path.as_str(), errno))?;
    }
    Ok(())
}

/// Mounts the directories above a path onto themselves, and opens the path again. A mount point cannot be renamed,
/// but a directory above it could be, and another put in its place.
pub(super) fn pin_in_place(place: OwnedFd) -> Result<OwnedFd, Errno> {
    // The path without links, which lead to the place but are not above it.
    let path = readlinkat(CWD, format!("/proc/self/fd/{}", place.as_raw_fd()), Vec::new())?;
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    let root = mount_of(Path::new("/"))?.id;
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    for directory in above {
        let mount = mount_of(directory)?;
        // The root's own file system becomes read-only.
        if mount.begins_here || mount.id == root {
            continue;
        }
        let itself = open_path(directory)?;
        attach(clone_of_open(&itself)?, itself)?;
    }
    // Only the last name may be a link, and that is opened as it is.
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())
}

/// The mount that a path is in.
struct InMount {
    id: u64,
    begins_here: bool,
}

fn mount_of(path: &Path) -> Result<InMount, Errno> {
    let there = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID)?;
    Ok(InMount { id: there.stx_mnt_id, begins_here: there.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) })
}

fn open_path(path: &Path) -> Result<OwnedFd, Errno> {
    openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Like `open`; where a name on the way is not a directory, opens that.
fn open_or_what_is_above(path: &VirtualPath) -> Result<Option<OwnedFd>, Errno> {
    let mut here = path.clone();
    loop {
        match open_path(Path::new(here.as_str())) {
            Ok(place) => return Ok(Some(place)),
            Err(Errno::NOTDIR) => match here.parent() {
                Some(above) => here = above,
                None => return Ok(None),
            },
            Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(errno),
        }
    }
}

/// Opens a path in the current root. Returns `None` when it does not exist.
fn open(path: &VirtualPath) -> Result<Option<OwnedFd>, Errno> {
    match open_path(Path::new(path.as_str())) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}
