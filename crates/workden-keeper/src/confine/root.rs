//! The root of a sandbox during setup: a small file system in memory onto which everything else is mounted, and which
//! becomes read-only.
//!
//! Invariant: a path is opened name by name, and a symbolic link on the way is an error, so that no link in a
//! workspace can redirect a mount.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, mknodat, openat, openat2, symlinkat},
    io::{Errno, write},
    mount::{MountAttrFlags, MountPropagationFlags, MoveMountFlags, UnmountFlags, mount_change, move_mount, unmount},
    process::{chdir, fchdir, pivot_root},
};
use workden_core::Error;

use super::{
    detached_mounts::{attach, new_file_system},
    errors::refused,
    ids::Ids,
    layout::HOME,
    sources::SourceKind,
};
use crate::sys::confine::{FileIds, MountScope, attribute, set_mount_attributes};

/// A directory that every system has and that the setup can cover.
const COVERED: &str = "/tmp";

/// Flags for opening a path without access to its content.
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// The root of a sandbox during setup.
pub(super) struct NewRoot {
    top: OwnedFd,
    ids: Ids,
}

impl NewRoot {
    /// Mounts an empty root over a directory.
    pub(super) fn new(ids: Ids) -> Result<Self, Error> {
        let options = [("mode", "0755"), ("size", "1m"), ("nr_inodes", "4k"), ("source", "workden")];
        let made = new_file_system("tmpfs", &options, MountAttrFlags::MOUNT_ATTR_NODEV).and_then(|root| {
            let covered = openat(CWD, COVERED, PLACE | OFlags::DIRECTORY, Mode::empty())?;
            attach(root, covered)?;
            openat(CWD, COVERED, PLACE | OFlags::DIRECTORY, Mode::empty())
        });
        Ok(Self { top: made.map_err(|errno| refused("create the root", errno))?, ids })
    }

    /// Creates a directory in the root's own file system.
    pub(super) fn directory(&self, path: &str) -> Result<(), Errno> {
        mkdirat(&self.top, path.trim_start_matches('/'), Mode::from_raw_mode(0o755))
    }

    /// Creates a directory without any permission.
    pub(super) fn closed_directory(&self, path: &str) -> Result<(), Errno> {
        mkdirat(&self.top, path.trim_start_matches('/'), Mode::empty())
    }

    /// Mounts onto a new directory in the root's own file system.
    pub(super) fn mount_on_directory(&self, path: &str, tree: impl AsFd) -> Result<(), Errno> {
        self.directory(path)?;
        self.mount_on_new(path.trim_start_matches('/'), tree)
    }

    /// Mounts onto a new, empty file in the root's own file system.
    pub(super) fn mount_on_file(&self, path: &str, tree: impl AsFd) -> Result<(), Errno> {
        let path = path.trim_start_matches('/');
        mknodat(&self.top, path, FileType::RegularFile, Mode::from_raw_mode(0o444), 0)?;
        self.mount_on_new(path, tree)
    }

    /// Mounts onto a path that was just created, without resolving it again.
    fn mount_on_new(&self, path: &str, tree: impl AsFd) -> Result<(), Errno> {
        move_mount(tree, "", &self.top, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
    }

    /// Creates a file in the root's own file system. `umask` restricts its mode.
    pub(super) fn file(&self, path: &str, content: &[u8], mode: u32) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.top, path.trim_start_matches('/'), flags, Mode::from_raw_mode(mode))?;
        let mut rest = content;
        while !rest.is_empty() {
            let written = write(&file, rest)?;
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Creates a symbolic link in the root's own file system.
    pub(super) fn link(&self, path: &str, target: &str) -> Result<(), Errno> {
        symlinkat(target, &self.top, path.trim_start_matches('/'))
    }

    /// Opens a path, for mounting onto it.
    pub(super) fn place(&self, path: &str) -> Result<OwnedFd, Errno> {
        let path = path.trim_start_matches('/');
        let path = if path.is_empty() { "." } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(&self.top, path, PLACE, Mode::empty(), resolve)
    }

    /// Opens the mount point for a path, and creates it if needed: the directories on the way, and a directory or an
    /// empty file at the end. Below a mount and in the home they are created as the sandbox's user, who can then write
    /// beside what is mounted there.
    pub(super) fn place_for(&self, path: &str, kind: SourceKind) -> Result<OwnedFd, Errno> {
        match self.place(path) {
            Err(Errno::NOENT) => {}
            found => return found,
        }
        let is_at_home = path.strip_prefix(HOME).is_some_and(|below| below.starts_with('/'));
        let _as_sandbox = is_at_home.then(|| self.as_sandbox());
        let mut here = self.place("")?;
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let made = match (kind, names.peek()) {
                (SourceKind::File, None) => self.make_empty_file(here.as_fd(), name),
                _ => self.make_directory(here.as_fd(), name),
            };
            match made {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            let next = openat2(&here, name, PLACE, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
            here = next;
        }
        Ok(here)
    }

    fn make_directory(&self, parent: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
        let mode = Mode::from_raw_mode(0o755);
        match mkdirat(parent, name, mode) {
            Err(Errno::OVERFLOW) => {
                let _as_sandbox = self.as_sandbox();
                mkdirat(parent, name, mode)
            }
            made => made,
        }
    }

    fn make_empty_file(&self, parent: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        match openat(parent, name, flags, mode) {
            Err(Errno::OVERFLOW) => {
                let _as_sandbox = self.as_sandbox();
                openat(parent, name, flags, mode).map(drop)
            }
            made => made.map(drop),
        }
    }

    /// In an id-mapped mount only the sandbox's user can create files.
    fn as_sandbox(&self) -> FileIds {
        let (uid, gid) = self.ids.on_host();
        FileIds::become_ids(uid, gid)
    }

    /// Makes this the root, and detaches the old one with everything in it.
    pub(super) fn enter(self) -> Result<(), Error> {
        fchdir(&self.top)
            .and_then(|()| pivot_root(".", "."))
            // The old root is now mounted on top of the new one.
            .and_then(|()| unmount(".", UnmountFlags::DETACH))
            .and_then(|()| chdir("/"))
            .map_err(|errno| refused("change to the new root", errno))
    }
}

/// Makes all mounts private, so that changes here are not seen on the host.
pub(super) fn cut_off() -> Result<(), Error> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|errno| refused("make the mounts private", errno))
}

/// Makes the root read-only. Mounts on it keep their access.
pub(super) fn seal() -> Result<(), Error> {
    openat(CWD, "/", PLACE | OFlags::DIRECTORY, Mode::empty())
        .and_then(|root| set_mount_attributes(root, MountScope::Mount, attribute::READ_ONLY, None))
        .map_err(|errno| refused("make the root read-only", errno))
}
