//! `RootEntry`: one name in the root of a sandbox, taken from the host while the host can still be seen.

use std::{fs, os::fd::OwnedFd, path::Path};

use rustix::io::Errno;
use workden_core::{Error, sandbox::MountAccess};

use super::{
    detached_mounts::clone_of,
    errors::{errno_of, refused},
    root::NewRoot,
    sources::SourceKind,
};

/// One name in the root.
pub(super) enum RootEntry {
    /// A directory or a file of the host.
    Tree(OwnedFd, SourceKind),
    /// A symbolic link.
    Link(String),
    /// A file with this content.
    Copy(Vec<u8>),
}

impl RootEntry {
    /// Reads the entry at a path. Returns `None` when it does not exist, or is neither file, directory nor link.
    pub(super) fn of(path: &Path) -> Result<Option<Self>, Error> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Self::with_metadata(path, &metadata),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(refused("read the root files", errno_of(&error))),
        }
    }

    /// Like [`Self::of`], for a path whose metadata was read before.
    pub(super) fn with_metadata(path: &Path, metadata: &fs::Metadata) -> Result<Option<Self>, Error> {
        if metadata.is_symlink() {
            let target = fs::read_link(path).map_err(|error| refused("read the root files", errno_of(&error)))?;
            return Ok(target.into_os_string().into_string().ok().map(Self::Link));
        }
        let kind = if metadata.is_dir() { SourceKind::Directory } else { SourceKind::File };
        if kind == SourceKind::File && !metadata.is_file() {
            return Ok(None);
        }
        match clone_of(path, MountAccess::ReadOnly) {
            Ok(tree) => Ok(Some(Self::Tree(tree, kind))),
            // The user who starts the sandbox may not read it either.
            Err(Errno::ACCESS) => Ok(None),
            Err(errno) => Err(refused("read the root files", errno)),
        }
    }

    /// Puts the entry into the new root. The parent directory must exist.
    pub(super) fn place(self, root: &NewRoot, path: &str) -> Result<(), Errno> {
        match self {
            Self::Link(target) => root.link(path, &target),
            Self::Copy(content) => root.file(path, &content, 0o644),
            Self::Tree(tree, SourceKind::Directory) => root.mount_on_directory(path, tree),
            Self::Tree(tree, SourceKind::File) => root.mount_on_file(path, tree),
        }
    }
}
