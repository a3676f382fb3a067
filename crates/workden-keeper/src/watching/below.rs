//! Opening directories below a root by their names, without following a link.

use std::{
    os::fd::{AsRawFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
};
use workden_core::VirtualPath;

/// Opens a directory, to name it by [`path_of`] only.
pub(super) fn open(root: &Path, path: &VirtualPath) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = openat(CWD, root, flags, Mode::empty())?;
    for name in path.components() {
        at = openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(at)
}

/// Returns a path to an open descriptor, for calls that take only a path.
pub(super) fn path_of(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}
