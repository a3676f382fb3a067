//! The host directories of a workspace: the paths at which file calls and commands see them, and what must not change
//! in them because programs outside the workspace execute it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use workden_core::{
    Backend, Error, ErrorKind, Result, VirtualPath,
    host_executed::IN_GIT_DIRECTORY,
    sandbox::{Mount, MountAccess},
};
use workden_files::{CompositeBackend, Durability, LocalBackend, OpenMount, memory, open_mounts};
use workden_sandboxes::repositories::Repositories;

/// A mount of a workspace.
#[derive(Clone, Debug)]
pub(crate) enum Mounted {
    /// A directory of the host.
    Directory(PathBuf, MountAccess),
    /// Files that only file calls see.
    Backend(Arc<dyn Backend>),
}

/// The mounts of a workspace, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounts {
    pub(crate) directories: Vec<Mount>,
    backends: Vec<(VirtualPath, Arc<dyn Backend>)>,
}

impl Mounts {
    /// Collects all mounts. `root` is the directory to work in, and `inside` the path at which it is seen.
    pub(crate) fn of(root: Option<PathBuf>, inside: &VirtualPath, others: Vec<(String, Mounted)>) -> Result<Self> {
        let mut all = Self::default();
        if let Some(root) = root {
            all.add(inside.clone(), Mounted::Directory(root, MountAccess::ReadWrite))?;
        }
        for (at, mounted) in others {
            all.add(VirtualPath::parse(&at)?, mounted)?;
        }
        Ok(all)
    }

    fn add(&mut self, at: VirtualPath, mounted: Mounted) -> Result<()> {
        let is_taken = self.directories.iter().map(|mount| &mount.at).chain(self.backends.iter().map(|(at, _)| at));
        if is_taken.into_iter().any(|other| *other == at) {
            return Err(Error::new(ErrorKind::InvalidArgument, format!("two directories are mounted at `{at}`")));
        }
        match mounted {
            Mounted::Directory(source, access) => {
                let source = std::path::absolute(&source).unwrap_or(source);
                self.directories.push(Mount { source, at, access });
            }
            Mounted::Backend(backend) => self.backends.push((at, backend)),
        }
        Ok(())
    }

    /// Whether something is mounted at `/`.
    pub(crate) fn has_root(&self) -> bool {
        let mut all = self.directories.iter().map(|mount| &mount.at).chain(self.backends.iter().map(|(at, _)| at));
        all.any(VirtualPath::is_root)
    }

    /// Whether every directory is mounted at its host path.
    pub(crate) fn are_host_paths(&self) -> bool {
        let is_own = |mount: &Mount| host_path(&mount.source).is_ok_and(|own| own == mount.at);
        !self.directories.is_empty() && self.directories.iter().all(is_own)
    }

    /// Combines all mounts into one backend; `/` is `below`, or empty. A single mount at `/` is returned as it is.
    pub(crate) fn opened(
        &self,
        below: Option<Arc<dyn Backend>>,
        durability: Option<Durability>,
    ) -> Result<Arc<dyn Backend>> {
        self.combined(&open_mounts(&self.directories)?, below, durability)
    }

    /// Like [`Mounts::opened`], with the directories that commands see: these are open already.
    pub(crate) fn combined(
        &self,
        opened: &[OpenMount],
        below: Option<Arc<dyn Backend>>,
        durability: Option<Durability>,
    ) -> Result<Arc<dyn Backend>> {
        let options = || match durability {
            Some(durability) => LocalBackend::options().durability(durability),
            None => LocalBackend::options(),
        };
        let is_own = |open: &&OpenMount| self.directories.iter().any(|mount| mount.at == *open.at());
        let directories: Vec<&OpenMount> = opened.iter().filter(is_own).collect();
        match (&below, directories.as_slice(), self.backends.as_slice()) {
            (None, [], []) => return Ok(Arc::new(memory())),
            (None, [only], []) if only.at().is_root() => return Ok(Arc::new(options().open_mount(only)?)),
            (None, [], [(at, only)]) if at.is_root() => return Ok(Arc::clone(only)),
            (Some(only), [], []) => return Ok(Arc::clone(only)),
            _ => {}
        }
        let mut mounts = CompositeBackend::builder();
        if let Some(below) = below {
            mounts = mounts.mount("/", below)?;
        }
        for mount in directories {
            mounts = mounts.mount(mount.at().as_str(), options().open_mount(mount)?)?;
        }
        for (at, backend) in &self.backends {
            mounts = mounts.mount(at.as_str(), Arc::clone(backend))?;
        }
        Ok(Arc::new(mounts.build()))
    }

    /// Whether the path of a file goes through a link in a writable directory, which commands can replace.
    pub(crate) fn shows_link_to(&self, file: &Path) -> bool {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let is_here = |above: &Path| {
            above.canonicalize().is_ok_and(|above| {
                let is_above =
                    |mount: &Mount| mount.source.canonicalize().is_ok_and(|source| above.starts_with(source));
                self.directories.iter().any(|mount| mount.access == MountAccess::ReadWrite && is_above(mount))
            })
        };
        file.ancestors().any(|part| part.is_symlink() && part.parent().is_some_and(is_here))
    }

    /// Returns the paths that file calls may not change: read-only directories, and what git executes in git
    /// directories with unusual names. Those with usual names are protected by name.
    pub(crate) fn read_only(&self) -> impl Iterator<Item = VirtualPath> {
        let of_mount = |mount: &Mount| match mount.access {
            MountAccess::ReadOnly => vec![mount.at.clone()],
            MountAccess::ReadWrite => Vec::new(),
        };
        self.directories.iter().flat_map(of_mount)
    }
}

/// Returns what git executes in a directory, where a git directory is not called `.git`.
pub(crate) fn git_paths(mount: &Mount) -> impl Iterator<Item = VirtualPath> {
    let found = Repositories::in_directory(&mount.source);
    let in_it = |directory: &VirtualPath| IN_GIT_DIRECTORY.map(|name| directory.child_unchecked(name));
    let in_repositories: Vec<VirtualPath> = found.directories.iter().flat_map(in_it).collect();
    in_repositories.into_iter().chain(found.files).chain(found.links).map(|path| path.below(&mount.at))
}

/// Returns the path of a host directory as a virtual path.
pub(crate) fn host_path(directory: &Path) -> Result<VirtualPath> {
    VirtualPath::parse_bytes(directory.as_os_str().as_encoded_bytes())
}
