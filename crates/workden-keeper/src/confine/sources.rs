//! The host directories that a sandbox shows: the workspace and the declared mounts. The supervisor looks up their
//! owners; the process that becomes PID 1 clones them.
//!
//! Invariant: a clone is made from the descriptor that [`open_mounts`] has checked, and both processes have opened the
//! same files.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use workden_core::{
    Error, ErrorKind, VirtualPath,
    sandbox::{Confinement, InodeId, Mount, MountAccess, RootFiles, WorkFiles},
};
use workden_files::{OpenMount, open_mounts};

use super::{
    detached_mounts::{clone_with, map_ids},
    errors::{at_place, errno_of, in_words},
    ids::OwnerNamespaces,
};

/// A path of the host, and where the sandbox shows it.
pub(super) struct MountSource {
    mount: Mount,
    id: InodeId,
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
    let mounts = shown(confinement);
    let opened = open_mounts(&mounts)?;
    for source in &opened {
        let is_work = matches!(confinement.work, WorkFiles::Directory(_)) && *source.at() == confinement.directory;
        if is_work && !source.is_directory() {
            return Err(at_place(confinement.directory.as_str(), Errno::NOTDIR));
        }
        if confinement.expected.get(source.at()).is_some_and(|expected| *expected != source.id()) {
            return Err(replaced(source.at()));
        }
        refuse_own_places(source.at())?;
    }
    refuse_own_places(&confinement.directory)?;
    let mut sources: Vec<MountSource> = mounts
        .into_iter()
        .zip(&opened)
        .map(|(mount, opened)| MountSource { mount, id: opened.id(), owner: opened.owner() })
        .collect();
    sources.sort_by_key(|source| source.mount.at.as_str().matches('/').count());
    let mut places: Vec<&str> = sources.iter().map(|source| source.mount.at.as_str()).collect();
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

/// Returns the workspace and the declared mounts.
pub(super) fn shown(confinement: &Confinement) -> Vec<Mount> {
    let work = match &confinement.work {
        WorkFiles::Directory(source) => {
            let (source, at) = (source.clone(), confinement.directory.clone());
            Some(Mount { source, at, access: MountAccess::ReadWrite })
        }
        WorkFiles::Ephemeral { .. } => None,
    };
    work.into_iter().chain(confinement.mounts.iter().cloned()).collect()
}

/// Clones all sources, while the host can still be seen. The kernel clones only what was opened in the same mount
/// namespace, so they are opened again.
pub(super) fn clone_all(sources: Vec<MountSource>) -> Result<Vec<ClonedMount>, Error> {
    let mounts: Vec<Mount> = sources.iter().map(|source| source.mount.clone()).collect();
    let opened = open_mounts(&mounts)?;
    sources.into_iter().zip(opened).map(|(source, opened)| source.clone_from(&opened)).collect()
}

pub(super) fn replaced(at: &VirtualPath) -> Error {
    Error::new(ErrorKind::Moved, format!("cannot mount `{at}`: its source was replaced while the sandbox started"))
        .hint("another process changes these files, perhaps a sandbox with the same directory: stop it, then try again")
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
    /// Returns the owner on the host: user and group.
    pub(super) fn owner(&self) -> (u32, u32) {
        self.owner
    }

    fn clone_from(self, opened: &OpenMount) -> Result<ClonedMount, Error> {
        let Mount { at, access, .. } = self.mount;
        if opened.id() != self.id {
            return Err(replaced(&at));
        }
        let kind = if opened.is_directory() { SourceKind::Directory } else { SourceKind::File };
        let tree = clone_with(opened, access).map_err(|errno| at_place(at.as_str(), errno))?;
        Ok(ClonedMount { tree, at, kind, access, owner: self.owner })
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
