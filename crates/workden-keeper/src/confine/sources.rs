//! What of the host a sandbox shows: the workspace, the declared mounts, and the programs. Looked up
//! by the supervisor (whose files are they?), cloned by the process that becomes PID 1.

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

/// A place of the host, and where the sandbox shows it.
pub(super) struct MountSource {
    path: PathBuf,
    pub(super) at: VirtualPath,
    access: MountAccess,
    pub(super) kind: SourceKind,
    owner: (u32, u32),
}

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceKind {
    /// A directory.
    Directory,
    /// Anything else that can be opened.
    File,
}

/// A source that is ready to be shown.
pub(super) struct ClonedMount {
    pub(super) tree: OwnedFd,
    pub(super) at: VirtualPath,
    pub(super) kind: SourceKind,
    access: MountAccess,
    owner: (u32, u32),
}

/// Looks up the workspace and the declared mounts: parents before what is mounted below them.
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
        let sentence = format!("cannot mount `{}`: two things are to be shown there", twice[0]);
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

/// The places that every sandbox has of its own cannot be covered.
fn refuse_own_places(at: &VirtualPath) -> Result<(), Error> {
    let path = at.as_str();
    let inside = |place: &str| path == place || path.strip_prefix(place).is_some_and(|rest| rest.starts_with('/'));
    if at.is_root() || ["/proc", "/dev", "/sys", "/run"].into_iter().any(inside) || path == "/etc" || path == "/tmp" {
        let sentence = format!("cannot mount `{at}`: the sandbox has that place of its own");
        return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("choose a place like `/data`"));
    }
    Ok(())
}

impl MountSource {
    fn find(path: &Path, at: &VirtualPath, access: MountAccess) -> Result<Self, Error> {
        let there: Metadata = std::fs::metadata(path).map_err(|error| {
            let errno = errno_of(&error);
            at_place(at.as_str(), errno).hint("what is to be shown there must exist on the host, and be yours to read")
        })?;
        let kind = if there.is_dir() { SourceKind::Directory } else { SourceKind::File };
        Ok(Self { path: path.to_owned(), at: at.clone(), access, kind, owner: (there.uid(), there.gid()) })
    }

    /// Whose it is on the host: user and group.
    pub(super) fn owner(&self) -> (u32, u32) {
        self.owner
    }

    /// Clones it, while it can still be seen.
    pub(super) fn clone(self) -> Result<ClonedMount, Error> {
        let tree = clone_of(&self.path, self.access).map_err(|errno| at_place(self.at.as_str(), errno))?;
        Ok(ClonedMount { tree, at: self.at, kind: self.kind, access: self.access, owner: self.owner })
    }
}

impl ClonedMount {
    /// By root, shows the files of its owner as the sandbox's own.
    pub(super) fn map(&self, owners: &OwnerNamespaces) -> Result<(), Error> {
        let Some(mapping) = owners.find(self.owner) else { return Ok(()) };
        match map_ids(&self.tree, mapping) {
            // What is only read can do without: it is read by the rights of everybody.
            Err(errno) if self.access == MountAccess::ReadWrite => Err(cannot_map(&self.at, errno)),
            _ => Ok(()),
        }
    }
}

/// The file system cannot show its files as somebody else's, and root's commands are not root.
fn cannot_map(at: &VirtualPath, errno: Errno) -> Error {
    let sentence = format!(
        "cannot mount `{at}`: its file system cannot show the files as the sandbox's own ({})",
        in_words(errno)
    );
    Error::new(ErrorKind::Unsupported, sentence)
        .hint("start the sandbox as the user who owns the files, or put them on ext4, xfs, btrfs or tmpfs")
}
