//! `LocalBackend`: a host directory as a workspace.
//!
//! Invariant: the opened path is the path that was checked. Every path is resolved first, and opened by descriptor from
//! the root without following a link; see [`root`] for the only two ways.

mod attributes;
mod cached;
mod change;
mod directories;
mod disk_usage;
mod entries;
mod errors;
mod file_id;
mod glob;
mod grep;
mod identity;
mod left_out;
mod linked;
mod links;
mod lock;
mod metadata;
mod names_in;
mod new_file;
mod read;
mod remove;
mod replace;
mod root;
mod spool;
mod walk;

use std::{os::fd::BorrowedFd, path::Path, sync::Arc};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
pub use disk_usage::disk_usage;
use futures_util::StreamExt;
use left_out::LeftOut;
pub use root::PathOpening;
use root::Root;
use rustix::io::Errno;
use spool::{Gathered, Spool};
use workden_core::{
    Attributes, Backend, ByteRange, Changed, Content, ContentStream, Entry, Error, Expect, FileIdentity, HostFiles,
    IfExists, Opened, Presence, Removal, Resolved, Result, Slice, Symlink, VirtualPath, Written, names,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

use crate::{
    blocking::{Abandoned, blocking},
    composite::CompositeBackend,
    open_mounts::OpenMount,
};

/// Bytes of streamed content that are held in memory.
const HELD_BYTES: usize = 256 * 1024;

/// A host directory as a workspace. Clones share the directory.
#[derive(Clone, Debug)]
pub struct LocalBackend {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: Root,
    durability: Durability,
    bound_files: BoundFiles,
}

/// What a power failure may undo. With every choice, a process that dies loses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The most recent writes: content is on the disk before it gets the file's name, so that the file is always
    /// complete, either old or new.
    #[default]
    Fsync,
    /// Nothing: when the call returns, the name is on the disk, too.
    FsyncNames,
    /// Everything that the system has not yet written by itself, even whole files.
    None,
}

impl Durability {
    fn sync_content(self, fd: BorrowedFd<'_>) -> Result<(), Errno> {
        match self {
            Self::Fsync | Self::FsyncNames => rustix::fs::fsync(fd),
            Self::None => Ok(()),
        }
    }

    fn sync_names(self, directory: BorrowedFd<'_>) -> Result<(), Errno> {
        match self {
            Self::FsyncNames => match rustix::fs::fsync(directory) {
                // Some file systems cannot sync a directory.
                Err(Errno::INVAL | Errno::ROFS) => Ok(()),
                synced => synced,
            },
            Self::Fsync | Self::None => Ok(()),
        }
    }
}

/// How to write a file that is a mount itself, which no rename can replace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoundFiles {
    /// Refuse the write.
    #[default]
    Refuse,
    /// Write in place: a reader may see half of the content, and a writer that dies leaves half of it.
    WriteInPlace,
}

/// Options for opening a [`LocalBackend`].
#[derive(Clone, Debug, Default)]
pub struct LocalOptions {
    durability: Durability,
    bound_files: BoundFiles,
    opening: PathOpening,
    left_out: Vec<VirtualPath>,
}

impl LocalOptions {
    /// Sets what a power failure may undo.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets how to write files that are mounts themselves.
    #[must_use]
    pub fn bound_files(mut self, bound_files: BoundFiles) -> Self {
        self.bound_files = bound_files;
        self
    }

    /// Sets how paths are opened; for tests of the second way.
    #[must_use]
    pub fn path_opening(mut self, opening: PathOpening) -> Self {
        self.opening = opening;
        self
    }

    /// Excludes paths: no call sees what the directory has at these paths, and links do not lead there. Nothing can be
    /// made there, and a directory that contains an excluded path can be neither moved nor removed.
    ///
    /// An excluded place is identified by its path. Exclude only paths that are never renamed: mounts such as `/proc`.
    #[must_use]
    pub fn without(mut self, places: impl IntoIterator<Item = VirtualPath>) -> Self {
        self.left_out.extend(places);
        self
    }

    /// Opens a directory with these options.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be opened, or all of it is excluded. The error does not contain the
    /// host path, because it may reach a model.
    pub fn open(self, directory: impl AsRef<Path>) -> Result<LocalBackend> {
        self.open_as("the directory of the workspace", directory.as_ref())
    }

    /// Opens a directory to be mounted at a path, which errors name.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be opened.
    pub fn open_for(self, at: &VirtualPath, directory: impl AsRef<Path>) -> Result<LocalBackend> {
        self.open_as(&format!("the directory to mount at `{at}`"), directory.as_ref())
    }

    /// Opens the directory of a mount.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not a directory, or cannot be read.
    pub fn open_mount(self, mount: &OpenMount) -> Result<LocalBackend> {
        let what = format!("the directory to mount at `{}`", mount.at());
        self.opened_as(&what, mount.source(), |opening, left_out| Root::of_open(mount, opening, left_out))
    }

    /// Opens a directory that errors describe as `what`.
    fn open_as(self, what: &str, directory: &Path) -> Result<LocalBackend> {
        self.opened_as(what, directory, |opening, left_out| Root::open(directory, opening, left_out))
    }

    fn opened_as(
        self,
        what: &str,
        directory: &Path,
        open: impl FnOnce(PathOpening, LeftOut) -> Result<Root, Errno>,
    ) -> Result<LocalBackend> {
        let left_out = LeftOut::new(self.left_out)?;
        let root = open(self.opening, left_out).map_err(|errno| {
            let (kind, why) = errors::root_refused(errno);
            let cause = std::io::Error::from(errno);
            tracing::debug!(
                error = &cause as &dyn std::error::Error,
                directory = %directory.display(),
                "cannot open the directory of a workspace"
            );
            Error::new(kind, format!("cannot open {what}: {why}"))
                .hint("it must be a directory that exists, and this process must be able to read it")
                .with_source(cause)
        })?;
        Ok(LocalBackend { inner: Arc::new(Inner { root, durability: self.durability, bound_files: self.bound_files }) })
    }
}

impl LocalBackend {
    /// Opens a directory as `/`.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be opened.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self> {
        Self::options().open(directory)
    }

    /// Returns the default options for opening a directory.
    #[must_use]
    pub fn options() -> LocalOptions {
        LocalOptions::default()
    }

    /// Opens several directories, each mounted at its path.
    ///
    /// # Errors
    ///
    /// Returns an error if a directory cannot be opened, or two have the same path.
    pub fn open_several<P: AsRef<Path>>(
        directories: impl IntoIterator<Item = (VirtualPath, P)>,
    ) -> Result<CompositeBackend> {
        let mut mounts = CompositeBackend::builder();
        for (at, directory) in directories {
            mounts = mounts.mount(at.as_str(), Self::options().open_for(&at, directory)?)?;
        }
        Ok(mounts.build())
    }

    /// Waits for the whole content of a stream: in memory while it is small, otherwise on the disk.
    async fn gather(&self, at: &Resolved, mut pieces: ContentStream) -> Result<Gathered> {
        let mut held = BytesMut::new();
        let mut spool = None;
        while let Some(piece) = pieces.next().await {
            held.extend_from_slice(&piece?);
            if held.len() >= HELD_BYTES {
                spool = Some(self.spool(at, spool.take(), held.split().freeze()).await?);
            }
        }
        match spool {
            None => Ok(Gathered::Whole(held.freeze())),
            Some(spool) => self.spool(at, Some(spool), held.freeze()).await?.finish(&at.typed),
        }
    }

    async fn spool(&self, at: &Resolved, spool: Option<Spool>, content: Bytes) -> Result<Spool> {
        self.run(at, move |inner, real| {
            let mut spool = spool.map_or_else(|| Spool::open(inner, real), Ok)?;
            spool.append(real, &content)?;
            Ok(spool)
        })
        .await
    }

    /// Runs blocking work on a resolved path; errors name the typed path.
    async fn run<T: Send + 'static>(
        &self,
        at: &Resolved,
        work: impl FnOnce(&Inner, &VirtualPath) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let inner = Arc::clone(&self.inner);
        let real = at.real.clone();
        let done = blocking(move || {
            work(&inner, &real).map_err(|error| errors::with_file_on_the_way(&inner.root, &real, error))
        });
        done.await.map_err(|error| error.told_as(&at.real, &at.typed))
    }
}

/// Refuses workden's temporary files: they do not exist for callers.
fn not_our_own(verb: &str, at: &Resolved) -> Result<()> {
    match is_our_own(&at.real) {
        true => Err(Error::not_found(verb, &at.typed)),
        false => Ok(()),
    }
}

fn is_our_own(real: &VirtualPath) -> bool {
    real.components().any(|name| names::is_temporary(name.as_bytes()))
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for LocalBackend {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        if let Some(resolved) = cached::resolve(&self.inner.root, path, symlink) {
            return Ok(resolved);
        }
        let typed = Resolved::literal(path.clone());
        self.run(&typed, move |inner, typed| {
            let real = links::resolve(&inner.root, typed, symlink)?;
            let presence = match is_our_own(&real) {
                true => Presence::Absent,
                false => Presence::of(entries::stat(&inner.root, &real)),
            };
            Ok(Resolved::new(typed.clone(), real).with_presence(presence))
        })
        .await
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        not_our_own("look at", at)?;
        if let Some(entry) = cached::stat(&self.inner.root, &at.real) {
            return Ok(entry);
        }
        self.run(at, move |inner, real| entries::stat(&inner.root, real)).await
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        let request = request.clone();
        let asked = Abandoned::default();
        let abandoned = asked.flag();
        self.run(at, move |inner, real| entries::list(&inner.root, real, &request, &abandoned)).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        not_our_own("read", at)?;
        self.run(at, move |inner, real| read::read(&inner.root, real, range)).await
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        not_our_own("read", at)?;
        if let Some(excerpt) = cached::read_text(&self.inner.root, &at.real, window) {
            return Ok(excerpt);
        }
        self.run(at, move |inner, real| read::read_text(&inner.root, real, window)).await
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let content = match content {
            Content::Whole(bytes) => Gathered::Whole(bytes),
            Content::Stream(pieces) => self.gather(at, pieces).await?,
        };
        self.run(at, move |inner, real| change::write(inner, real, &content, expect)).await
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let change = change.clone();
        self.run(at, move |inner, real| change::change(inner, real, &change, expect, most)).await
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        self.run(at, move |inner, real| directories::make_dir(&inner.root, real, inner.durability)).await
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        self.run(at, move |inner, real| remove::remove(inner, real, what)).await
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        not_our_own("move", from)?;
        let destination = to.real.clone();
        let renamed = self.run(from, move |inner, from| {
            change::rename(inner, from, &destination, if_exists)
                .map_err(|error| errors::with_file_on_the_way(&inner.root, &destination, error))
        });
        let renamed = renamed.await;
        renamed.map_err(|error| error.told_as(&to.real, &to.typed))
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        not_our_own("copy", from)?;
        let destination = to.real.clone();
        let copied = self.run(from, move |inner, from| {
            change::copy(inner, from, &destination, if_exists)
                .map_err(|error| errors::with_file_on_the_way(&inner.root, &destination, error))
        });
        let copied = copied.await;
        copied.map_err(|error| error.told_as(&to.real, &to.typed))
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        let request = request.clone();
        let asked = Abandoned::default();
        let abandoned = asked.flag();
        self.run(at, move |inner, real| glob::glob(&inner.root, real, &request, &abandoned)).await
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        not_our_own("search", at)?;
        let request = request.clone();
        let asked = Abandoned::default();
        let abandoned = asked.flag();
        self.run(at, move |inner, real| grep::grep(&inner.root, real, &request, &abandoned)).await
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        Some(self)
    }
}

#[async_trait]
impl HostFiles for LocalBackend {
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened> {
        not_our_own("read", at)?;
        self.run(at, move |inner, real| read::open(&inner.root, real, most)).await
    }

    async fn read_attributes(&self, at: &Resolved, prefix: &str) -> Result<Attributes> {
        not_our_own("read attributes of", at)?;
        let prefix = prefix.to_owned();
        self.run(at, move |inner, real| attributes::read(&inner.root, real, &prefix)).await
    }

    async fn write_attributes(&self, at: &Resolved, attributes: &Attributes) -> Result<()> {
        not_our_own("set attributes of", at)?;
        let attributes = attributes.clone();
        self.run(at, move |inner, real| attributes::write(inner, real, &attributes)).await
    }

    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        // A tree that moves has many files, and many lookups on this thread would take too long.
        if let [only] = files
            && cached::has_one_name(&self.inner.root, &only.real)
        {
            return Ok(vec![Vec::new()]);
        }
        let reals: Vec<VirtualPath> = files.iter().map(|file| file.real.clone()).collect();
        let (inner, asked) = (Arc::clone(&self.inner), Abandoned::default());
        let abandoned = asked.flag();
        blocking(move || identity::other_names(&inner.root, &reals, &abandoned)).await
    }

    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        not_our_own("look at", at)?;
        if let Some(identity) = cached::identify(&self.inner.root, &at.real) {
            return Ok(Some(identity));
        }
        self.run(at, move |inner, real| identity::identify(&inner.root, real).map(Some)).await
    }

    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        let root = Resolved::literal(VirtualPath::root());
        Ok(self.find_identity(&root).await?.map(|identity| (root.real, identity)).into_iter().collect())
    }

    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        if !files.iter().any(|file| identity::may_be_here(&self.inner.root, file)) {
            return Ok(vec![Vec::new(); files.len()]);
        }
        let files = files.to_vec();
        let (inner, asked) = (Arc::clone(&self.inner), Abandoned::default());
        let abandoned = asked.flag();
        blocking(move || identity::names_of(&inner.root, &files, &abandoned)).await
    }
}
