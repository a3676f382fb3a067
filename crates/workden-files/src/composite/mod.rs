//! `CompositeBackend`: a mount table over any backends.
//!
//! Invariant: the longest mount that contains the normalised path decides. Its backend sees the path without the mount
//! point, and everything that the agent sees (paths, errors, the input of rules and globs) has the mount point again.
//! Paths that a mount covers are not reachable. A repository ends at a mount, as in git: ignore files above a mount do
//! not apply inside it.

mod mounts;
mod moving;
mod names;
mod search;
mod transfer;

use std::sync::Arc;

use async_trait::async_trait;
use mounts::{Mount, MountTable};
use workden_core::{
    Attributes, Backend, BackendExt, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, FileIdentity,
    HostFiles, IfExists, Opened, Presence, Removal, Resolved, Result, Slice, Symlink, VirtualPath, Written,
    directory_entry, limits,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

/// Backends mounted at paths. Clones share the backends.
#[derive(Clone, Debug)]
pub struct CompositeBackend {
    mounts: Arc<MountTable>,
}

/// Builds a [`CompositeBackend`].
#[derive(Debug, Default)]
pub struct CompositeBuilder {
    mounts: MountTable,
}

impl CompositeBuilder {
    /// Mounts a backend at a path; `/foo` and `/foo/` are the same.
    ///
    /// # Errors
    ///
    /// Returns `AlreadyExists` if a backend is mounted there, and the errors of [`VirtualPath::parse`].
    pub fn mount(mut self, at: &str, backend: impl Backend + 'static) -> Result<Self> {
        self.mounts.add(VirtualPath::parse(at)?, Arc::new(backend))?;
        Ok(self)
    }

    /// Returns the mount table as a backend.
    #[must_use]
    pub fn build(self) -> CompositeBackend {
        CompositeBackend { mounts: Arc::new(self.mounts) }
    }
}

impl CompositeBackend {
    /// Returns a builder with an empty mount table.
    #[must_use]
    pub fn builder() -> CompositeBuilder {
        CompositeBuilder::default()
    }

    /// Returns the backend for a path and the path in it; an error if no mount contains the path.
    fn mount_of(&self, verb: &str, at: &Resolved) -> Result<(Mount<'_>, Resolved)> {
        let Some(mount) = self.mounts.find(&at.real) else {
            return Err(if self.mounts.leads_to_mounts(&at.real) {
                Error::is_directory(verb, &at.real)
            } else {
                Error::not_found(verb, &at.real).hint(self.mounts.hint())
            });
        };
        let local = mount.local(at);
        Ok((mount, local))
    }

    /// Like `mount_of`, for calls that need a file: a path that leads to a mount is a directory, whatever a backend
    /// stores there.
    fn mount_of_file(&self, verb: &str, at: &Resolved) -> Result<(Mount<'_>, Resolved)> {
        match self.mounts.leads_to_mounts(&at.real) {
            true => Err(Error::is_directory(verb, &at.real)),
            false => self.mount_of(verb, at),
        }
    }

    /// Like `mount_of_file`, for calls that change something: mounts and the paths that lead to them cannot be changed.
    fn mount_to_change(&self, verb: &str, at: &Resolved) -> Result<(Mount<'_>, Resolved)> {
        match self.mount_of_file(verb, at) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::new(ErrorKind::ReadOnly, format!("cannot {verb} `{}`: nothing is mounted there", at.real))
                    .hint(self.mounts.hint()))
            }
            found => found,
        }
    }

    /// Returns a path that a mount has resolved, as the agent sees it.
    fn seen(&self, mount: &Mount<'_>, typed: &VirtualPath, real: VirtualPath, resolved: Resolved) -> Resolved {
        let resolved = resolved.relocated(typed.clone(), real, |entry| mount.shown(entry));
        let resolved = match self.mounts.leads_to_mounts(&resolved.real) {
            // A path that leads to a mount is a directory, whatever a backend stores there.
            true if !matches!(resolved.presence(), Presence::Present(entry) if entry.is_dir()) => {
                let entry = directory_entry(resolved.real.clone());
                resolved.with_presence(Presence::Present(entry))
            }
            _ => resolved,
        };
        match self.mounts.may_overlap() {
            true => resolved.with_possible_aliases(),
            false => resolved,
        }
    }

    fn refuse_mounts(&self, verb: &str, at: &Resolved) -> Result<()> {
        if at.real.is_root() {
            return Err(Error::root_stays(verb));
        }
        if self.mounts.leads_to_mounts(&at.real) || self.mounts.is_mount(&at.real) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("cannot {verb} `{}`: something is mounted there", at.real),
            )
            .hint("mounts stay where they are; name what is in it"));
        }
        Ok(())
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for CompositeBackend {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        let mut real = path.clone();
        for _ in 0..limits::LINK_DEPTH {
            let Some(mount) = self.mounts.find(&real) else {
                let presence = match self.mounts.leads_to_mounts(&real) {
                    true => Presence::Present(directory_entry(real.clone())),
                    false => Presence::Absent,
                };
                return Ok(Resolved::new(path.clone(), real).with_presence(presence));
            };
            let local = mount.strip(&real);
            let resolved = mount.backend.resolve(&local, symlink).await.map_err(|error| mount.told(error))?;
            let followed = resolved.real.below(mount.at);
            // A link can lead into another mount: the agent sees that mount there.
            if self.mounts.find(&followed).is_some_and(|found| found.at == mount.at) {
                return Ok(self.seen(&mount, path, followed, resolved));
            }
            real = followed;
        }
        Err(Error::link_loop(path))
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        let synthetic = self.mounts.leads_to_mounts(&at.real);
        let found = match self.mount_of("look at", at) {
            Ok((mount, local)) => match mount.backend.stat(&local).await {
                Ok(entry) => Ok(mount.shown(entry)),
                Err(error) => Err(mount.told(error)),
            },
            Err(error) => Err(error),
        };
        match found {
            Ok(entry) if !synthetic || entry.is_dir() => Ok(entry),
            _ if synthetic => Ok(directory_entry(at.real.clone())),
            other => other,
        }
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        search::list(&self.mounts, at, request).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        let (mount, local) = self.mount_of_file("read", at)?;
        mount.backend.read(&local, range).await.map_err(|error| mount.told(error))
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        let (mount, local) = self.mount_of_file("read", at)?;
        mount.backend.read_text(&local, window).await.map_err(|error| mount.told(error))
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let (mount, local) = self.mount_to_change("write", at)?;
        mount.wrote(mount.backend.write(&local, content, expect).await)
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let (mount, local) = self.mount_of_file("edit", at)?;
        match mount.backend.change(&local, change, expect, most).await {
            Ok(mut changed) => {
                changed.path = changed.path.below(mount.at);
                Ok(changed)
            }
            Err(error) => Err(mount.told(error)),
        }
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        if self.mounts.leads_to_mounts(&at.real) {
            return Ok(());
        }
        let (mount, local) = self.mount_to_change("make", at)?;
        mount.backend.make_dir(&local).await.map_err(|error| mount.told(error))
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        self.refuse_mounts("remove", at)?;
        let (mount, local) = self.mount_of("remove", at)?;
        mount.backend.remove(&local, what).await.map_err(|error| mount.told(error))
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        self.refuse_mounts("move", from)?;
        let (source, local_from) = self.mount_of("move", from)?;
        if self.mounts.leads_to_mounts(&to.real) || self.mounts.is_mount(&to.real) {
            // The destination is a directory; but a missing source is reported first.
            source.backend.stat(&local_from).await.map_err(|error| source.told(error))?;
            return Err(Error::directory_in_place("move to", &to.real));
        }
        let (destination, local_to) = self.mount_to_change("move to", to)?;
        if source.at == destination.at {
            return source.backend.rename(&local_from, &local_to, if_exists).await.map_err(|error| source.told(error));
        }
        moving::move_across(&source, &local_from, &destination, &local_to, if_exists).await
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        let (source, local_from) = self.mount_of_file("copy", from)?;
        let (destination, local_to) = self.mount_to_change("copy to", to)?;
        if source.at == destination.at {
            return source.wrote(source.backend.copy(&local_from, &local_to, if_exists).await);
        }
        transfer::copy_across(&source, &local_from, &destination, &local_to, if_exists).await
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        search::glob(&self.mounts, at, request).await
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        search::grep(&self.mounts, at, request).await
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        self.mounts.all().any(|mount| mount.backend.host_files().is_some()).then_some(self)
    }
}

#[async_trait]
impl HostFiles for CompositeBackend {
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened> {
        let (mount, local) = self.mount_of_file("read", at)?;
        mount.backend.open(&local, most).await.map_err(|error| mount.told(error))
    }

    async fn read_attributes(&self, at: &Resolved, prefix: &str) -> Result<Attributes> {
        let (mount, local) = self.mount_of_file("read attributes of", at)?;
        mount.backend.attributes(&local, prefix).await.map_err(|error| mount.told(error))
    }

    async fn write_attributes(&self, at: &Resolved, attributes: &Attributes) -> Result<()> {
        let (mount, local) = self.mount_of_file("set attributes of", at)?;
        mount.backend.set_attributes(&local, attributes).await.map_err(|error| mount.told(error))
    }

    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        names::other_names(&self.mounts, files).await
    }

    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        names::identify(&self.mounts, at).await
    }

    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        names::origins(&self.mounts).await
    }

    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        names::names_of(&self.mounts, files).await
    }
}
