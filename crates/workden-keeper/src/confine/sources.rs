//! The host directories that a sandbox shows: the workspace and the declared mounts. The supervisor looks up their
//! owners; the process that becomes PID 1 clones them.

use std::{
    fs::Metadata,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

use rustix::io::Errno;
use workden_core::{
    Error, ErrorKind, VirtualPath,
    sandbox::{Confinement, MountAccess, RootFiles, WorkFiles},
};

use super::{
    detached_mounts::{clone_of, map_ids},
    errors::{at_place, errno_of, in_words},
    ids::OwnerNamespaces,
};

/// A path of the host, and where the sandbox shows it.
pub(super) struct MountSource {
    path: PathBuf,
    pub(super) at: VirtualPath,
    access: MountAccess,
    pub(super) kind: SourceKind,
    owner: (u32, u32),
}

/// The kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceKind {
    /// A directory.
    Directory,
    /// Any other file.
    File,
}

/// A cloned source, ready to be attached.
pub(super) struct ClonedMount {
    pub(super) tree: OwnedFd,
    pub(super) at: VirtualPath,
    pub(super) kind: SourceKind,
    access: MountAccess,
    owner: (u32, u32),
}

/// Looks up the workspace and the declared mounts, parents before children.
pub(super) fn look_up(confinement: &Confinement) -> Result<Vec<MountSource>, Error> {
    let mut sources = Vec::new();
    if let WorkFiles::Directory(path) = &confinement.work {
        let source = MountSource::find(path, &confinement.directory, MountAccess::ReadWrite)?;
        if source.kind != SourceKind::Directory {
            return Err(at_place(confinement.directory.as_str(), Errno::NOTDIR));
        }
        sources.push(source);
    }
    for mount in &confinement.mounts {
        sources.push(MountSource::find(&mount.source, &mount.at, mount.access)?);
    }
    sources.sort_by_key(|source| source.at.as_str().matches('/').count());
    for source in &sources {
        refuse_own_places(&source.at)?;
    }
    refuse_own_places(&confinement.directory)?;
    let mut places: Vec<&str> = sources.iter().map(|source| source.at.as_str()).collect();
    places.sort_unstable();
    if let Some(twice) = places.windows(2).find(|pair| pair[0] == pair[1]) {
        let sentence = format!("cannot mount `{}`: two mounts have the same path", twice[0]);
        return Err(Error::new(ErrorKind::InvalidArgument, sentence));
    }
    if let RootFiles::Directory(root) = &confinement.root {
        let there = std::fs::metadata(root).map_err(|error| at_place("/", errno_of(&error)))?;
        if !there.is_dir() {
            return Err(at_place("/", Errno::NOTDIR));
        }
    }
    Ok(sources)
}

/// Rejects paths that every sandbox provides itself.
fn refuse_own_places(at: &VirtualPath) -> Result<(), Error> {
    let path = at.as_str();
    let inside = |place: &str| path == place || path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'));
    if at.is_root() || ["/proc", "/dev", "/sys", "/run"].into_iter().any(inside) || path == "/etc" || path == "/tmp" {
        let sentence = format!("cannot mount `{at}`: the sandbox provides this path itself");
        return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("choose a path like `/data`"));
    }
    Ok(())
}

impl MountSource {
    fn find(path: &Path, at: &VirtualPath, access: MountAccess) -> Result<Self, Error> {
        let there: Metadata = std::fs::metadata(path).map_err(|error| {
            let errno = errno_of(&error);
            at_place(at.as_str(), errno).hint("name a path of the host that exists and that you may read")
        })?;
        let kind = if there.is_dir() { SourceKind::Directory } else { SourceKind::File };
        Ok(Self { path: path.to_owned(), at: at.clone(), access, kind, owner: (there.uid(), there.gid()) })
    }

    /// Returns the owner on the host: user and group.
    pub(super) fn owner(&self) -> (u32, u32) {
        self.owner
    }

    /// Clones the source, while the host can still be seen.
    pub(super) fn clone(self) -> Result<ClonedMount, Error> {
        let tree = clone_of(&self.path, self.access).map_err(|errno| at_place(self.at.as_str(), errno))?;
        Ok(ClonedMount { tree, at: self.at, kind: self.kind, access: self.access, owner: self.owner })
    }
}

impl ClonedMount {
    /// Shows the files of the owner as the sandbox's own, in a sandbox that root started.
    pub(super) fn map(&self, owners: &OwnerNamespaces) -> Result<(), Error> {
        let Some(mapping) = owners.find(self.owner) else { return Ok(()) };
        match map_ids(&self.tree, mapping) {
            // A read-only mount works without the mapping, by world-readable modes.
            Err(errno) if self.access == MountAccess::ReadWrite => Err(cannot_map(&self.at, errno)),
            _ => Ok(()),
        }
    }
}

/// Returns the error for a file system without id-mapped mounts: commands of a sandbox that root started are not
/// root.
fn cannot_map(at: &VirtualPath, errno: Errno) -> Error {
    let sentence =
        format!("cannot mount `{at}`: its file system does not support id-mapped mounts ({})", in_words(errno));
    Error::new(ErrorKind::Unsupported, sentence)
        .hint("start the sandbox as the user who owns the files, or put them on ext4, xfs, btrfs or tmpfs")
}
