//! Places that may be read but not changed, and places that may not even be read, whatever is
//! mounted there: covered by a read-only clone of themselves, or by something empty.
//!
//! Invariant: what is covered exists when the sandbox starts. A name that appears later is not.

use std::os::fd::{AsFd, OwnedFd};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat},
    io::Errno,
};
use workden_core::{Error, VirtualPath};

use super::{
    errors::at_place,
    root::NewRoot,
    trees::{attach, clone_of_open},
};
use crate::sys::confine::{Reach, attribute, set_mount_attributes};

/// What covers a file and a directory: empty, and nobody may read them.
pub(super) struct Empty {
    pub(super) file: OwnedFd,
    pub(super) directory: OwnedFd,
}

impl Empty {
    /// Makes them in the root's own file system, which is read-only in the end.
    pub(super) fn new(root: &NewRoot) -> Result<Self, Errno> {
        let run = root.directory("run")?;
        root.file("run/nothing", b"", 0)?;
        mkdirat(&run, "empty", Mode::empty())?;
        Ok(Self { file: read_only(root, "run/nothing")?, directory: read_only(root, "run/empty")? })
    }

    /// Covers these places. Links on the way are followed: what they lead to is covered.
    pub(super) fn mask(&self, places: &[VirtualPath]) -> Result<(), Error> {
        for path in places {
            let covered = open(path).and_then(|place| {
                let Some(place) = place else { return Ok(()) };
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

/// Mounts something read-only over itself: what is cloned from it is read-only, too.
fn read_only(root: &NewRoot, path: &str) -> Result<OwnedFd, Errno> {
    let place = root.place(path)?;
    let tree = clone_of_open(&place)?;
    set_mount_attributes(&tree, Reach::Mount, attribute::READ_ONLY, None)?;
    attach(tree, place)?;
    root.place(path)
}

/// Makes these places read-only, with all that is mounted below them.
pub(super) fn make_read_only(places: &[VirtualPath]) -> Result<(), Error> {
    for path in places {
        let covered = open(path).and_then(|place| {
            let Some(place) = place else { return Ok(()) };
            let tree = clone_of_open(&place)?;
            set_mount_attributes(&tree, Reach::Tree, attribute::READ_ONLY, None)?;
            attach(tree, place)
        });
        covered.map_err(|errno| at_place(path.as_str(), errno))?;
    }
    Ok(())
}

/// A place in the root as it is now; nothing when there is none.
fn open(path: &VirtualPath) -> Result<Option<OwnedFd>, Errno> {
    match openat(CWD, path.as_str(), OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}
