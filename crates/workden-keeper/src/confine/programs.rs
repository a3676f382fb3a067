//! Where programs and libraries come from: the host's /usr and what belongs to it, or a directory
//! that holds a root file system. Read-only, all of it.

use std::{fs, os::fd::OwnedFd, path::Path};

use rustix::io::Errno;
use workden_core::{
    Error,
    sandbox::{MountAccess, RootFiles},
};

use super::{
    detached_mounts::clone_of,
    errors::refused,
    etc::{self, EtcFiles},
    root::NewRoot,
    sources::{SourceKind, errno_of},
};

/// What of the host's root is shown, each as the link or the directory that it is there.
const OF_HOST: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib64", "lib32", "libx32"];

/// What of another root is not shown: every sandbox has these of its own, or not at all.
const NOT_OF_DIRECTORY: [&str; 10] =
    ["proc", "sys", "dev", "run", "tmp", "home", "boot", "lost+found", "etc", "workspace"];

/// Programs and libraries that are ready to be shown.
pub(super) struct Programs {
    parts: Vec<(String, RootEntry)>,
    etc: EtcFiles,
}

/// One name in the root.
pub(super) enum RootEntry {
    /// A directory or a file of the host.
    Tree(OwnedFd, SourceKind),
    /// A symbolic link.
    Link(String),
    /// A file with this content.
    Copy(Vec<u8>),
}

/// Looks at the host, while it can still be seen.
pub(super) fn gather(root: &RootFiles) -> Result<Programs, Error> {
    let mut parts = Vec::new();
    let etc = match root {
        RootFiles::Host => {
            for name in OF_HOST {
                if let Some(part) = part_of(&Path::new("/").join(name))? {
                    parts.push((name.to_owned(), part));
                }
            }
            etc::of_host(Path::new("/etc"))?
        }
        RootFiles::Directory(directory) => {
            let entries = fs::read_dir(directory).map_err(|error| refused("its root files", errno_of(&error)))?;
            for entry in entries.flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                if NOT_OF_DIRECTORY.contains(&name.as_str()) {
                    continue;
                }
                if let Some(part) = part_of(&entry.path())? {
                    parts.push((name, part));
                }
            }
            etc::of_directory(&directory.join("etc"))?
        }
    };
    Ok(Programs { parts, etc })
}

/// One name of a root: nothing when it is not there, or is neither file, directory nor link.
pub(super) fn part_of(path: &Path) -> Result<Option<RootEntry>, Error> {
    match fs::symlink_metadata(path) {
        Ok(there) => part_that_is(path, &there),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused("its root files", errno_of(&error))),
    }
}

/// The same of a name that was looked at.
pub(super) fn part_that_is(path: &Path, there: &fs::Metadata) -> Result<Option<RootEntry>, Error> {
    if there.is_symlink() {
        let target = fs::read_link(path).map_err(|error| refused("its root files", errno_of(&error)))?;
        return Ok(target.into_os_string().into_string().ok().map(RootEntry::Link));
    }
    let kind = if there.is_dir() { SourceKind::Directory } else { SourceKind::File };
    if kind == SourceKind::File && !there.is_file() {
        return Ok(None);
    }
    match clone_of(path, MountAccess::ReadOnly) {
        Ok(tree) => Ok(Some(RootEntry::Tree(tree, kind))),
        // Something that its starter may not even look at.
        Err(Errno::ACCESS) => Ok(None),
        Err(errno) => Err(refused("its root files", errno)),
    }
}

impl Programs {
    /// Shows them in the new root.
    pub(super) fn place(self, root: &NewRoot, network: &etc::NameResolution) -> Result<(), Error> {
        let placed = self.parts.into_iter().try_for_each(|(name, part)| part.place(root, &name));
        placed.and_then(|()| self.etc.place(root, network)).map_err(|errno| refused("showing its root files", errno))
    }
}

impl RootEntry {
    /// Shows it under a name whose parent directory is there.
    pub(super) fn place(self, root: &NewRoot, path: &str) -> Result<(), Errno> {
        match self {
            Self::Link(target) => root.link(path, &target),
            Self::Copy(content) => root.file(path, &content, 0o644),
            Self::Tree(tree, SourceKind::Directory) => root.mount_on_directory(path, tree),
            Self::Tree(tree, SourceKind::File) => root.mount_on_file(path, tree),
        }
    }
}
