//! The directories of the host that a workspace has: where file calls and commands see them, and what in them must not
//! change because programs outside of the workspace run it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use workden_core::{
    Backend, Error, ErrorKind, Result, VirtualPath,
    host_executed::IN_GIT_DIRECTORY,
    sandbox::{Mount, MountAccess},
};
use workden_files::{CompositeBackend, Durability, LocalBackend, memory};
use workden_sandboxes::repositories::Repositories;

/// What is mounted in a workspace.
#[derive(Clone, Debug)]
pub(crate) enum Mounted {
    /// A directory of the host.
    Directory(PathBuf, MountAccess),
    /// Files that only file calls see.
    Backend(Arc<dyn Backend>),
}

/// What a workspace has, and where.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounts {
    pub(crate) directories: Vec<Mount>,
    backends: Vec<(VirtualPath, Arc<dyn Backend>)>,
}

impl Mounts {
    /// Everything at its path. `root` is the directory to work in, and `inside` where that is seen.
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

    /// Whether every directory is mounted under the path that it has on the host.
    pub(crate) fn are_host_paths(&self) -> bool {
        let is_own = |mount: &Mount| host_path(&mount.source).is_ok_and(|own| own == mount.at);
        !self.directories.is_empty() && self.directories.iter().all(is_own)
    }

    /// All of it as one backend; `/` is `below`, or nothing. One that is all there is stands for itself.
    pub(crate) fn opened(
        &self,
        below: Option<Arc<dyn Backend>>,
        durability: Option<Durability>,
    ) -> Result<Arc<dyn Backend>> {
        let options = || match durability {
            Some(durability) => LocalBackend::options().durability(durability),
            None => LocalBackend::options(),
        };
        match (&below, self.directories.as_slice(), self.backends.as_slice()) {
            (None, [], []) => return Ok(Arc::new(memory())),
            (None, [only], []) if only.at.is_root() => return Ok(Arc::new(options().open(&only.source)?)),
            (None, [], [(at, only)]) if at.is_root() => return Ok(Arc::clone(only)),
            (Some(only), [], []) => return Ok(Arc::clone(only)),
            _ => {}
        }
        let mut mounts = CompositeBackend::builder();
        if let Some(below) = below {
            mounts = mounts.mount("/", below)?;
        }
        for Mount { source, at, .. } in &self.directories {
            mounts = mounts.mount(at.as_str(), options().open_for(at, source)?)?;
        }
        for (at, backend) in &self.backends {
            mounts = mounts.mount(at.as_str(), Arc::clone(backend))?;
        }
        Ok(Arc::new(mounts.build()))
    }

    /// Paths that file calls may not change: read-only directories, and what git runs by itself where a git directory
    /// has an unusual name. Those with usual names are protected by name.
    pub(crate) fn read_only(&self) -> impl Iterator<Item = VirtualPath> {
        let of_mount = |mount: &Mount| match mount.access {
            MountAccess::ReadOnly => vec![mount.at.clone()],
            MountAccess::ReadWrite => Vec::new(),
        };
        self.directories.iter().flat_map(of_mount)
    }
}

/// What git runs by itself in a directory, where a git directory has another name than `.git`.
pub(crate) fn git_paths(mount: &Mount) -> impl Iterator<Item = VirtualPath> {
    let found = Repositories::in_directory(&mount.source);
    let in_it = |directory: &VirtualPath| IN_GIT_DIRECTORY.map(|name| directory.child_unchecked(name));
    let in_repositories: Vec<VirtualPath> = found.directories.iter().flat_map(in_it).collect();
    in_repositories.into_iter().chain(found.files).chain(found.links).map(|path| path.below(&mount.at))
}

/// The path of a host directory as a virtual path.
pub(crate) fn host_path(directory: &Path) -> Result<VirtualPath> {
    VirtualPath::parse_bytes(directory.as_os_str().as_encoded_bytes())
}
