//! `Broken`: a backend that is right but for one thing, to see the suite fail.

mod changes;
mod edits;
mod reads;
mod searches;
mod spoil;

use std::{
    sync::{Mutex, atomic::AtomicBool},
    task::Poll,
};

use async_trait::async_trait;
pub(crate) use spoil::Spoil;
use workden_core::{
    Attributes, Backend, BackendExt, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, FileIdentity,
    HostFiles, IfExists, Opened, Presence, Removal, Resolved, Result, Slice, Symlink, VirtualPath, Written,
    directory_entry,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};
use workden_files::StateBackend;

/// A `StateBackend` with something wrong.
#[derive(Debug)]
pub(crate) struct Broken {
    inner: StateBackend,
    spoil: Spoil,
    /// Copies that follow what they were copied from.
    tied: Mutex<Vec<(VirtualPath, VirtualPath)>>,
    /// Whether a write waits for content.
    is_waiting: AtomicBool,
}

impl Broken {
    pub(crate) fn new(inner: StateBackend, spoil: Spoil) -> Self {
        Self { inner, spoil, tied: Mutex::default(), is_waiting: AtomicBool::default() }
    }

    fn is(&self, spoil: Spoil) -> bool {
        self.spoil == spoil
    }

    async fn is_there(&self, path: &VirtualPath) -> bool {
        self.inner.entry(path).await.is_ok()
    }

    /// The answer, with its error spoiled.
    fn answer<T>(&self, answer: Result<T>) -> Result<T> {
        answer.map_err(|error| match self.spoil {
            Spoil::Kind(kind) if error.kind() == kind => Error::new(ErrorKind::Io, error.sentence()),
            Spoil::ErrorsAreVague => Error::new(error.kind(), "that did not work"),
            Spoil::ErrorsAreEndless => Error::new(error.kind(), format!("{error}{}", "!".repeat(5_000))),
            _ => error,
        })
    }
}

/// Lets the others go first, once.
async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|context| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Broken {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        let resolved = self.inner.resolve(path, symlink).await?;
        match self.spoil {
            Spoil::ResolveForgetsWhatWasTyped => Ok(Resolved::new(VirtualPath::root(), resolved.real)),
            Spoil::ResolveMakesDirectories => {
                let parent = path.parent().unwrap_or_else(VirtualPath::root);
                let _ = self.inner.make_dir_path(&parent).await;
                Ok(Resolved::new(resolved.typed, resolved.real))
            }
            Spoil::ResolveSeesDirectoriesEverywhere if symlink == Symlink::NoFollow => {
                let entry = directory_entry(resolved.real.clone());
                Ok(resolved.with_presence(Presence::Present(entry)))
            }
            // Other spoils are in the calls: nothing is known before.
            _ => Ok(Resolved::new(resolved.typed, resolved.real)),
        }
    }
    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.answer(self.spoiled_stat(at).await)
    }
    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        self.answer(self.spoiled_list(at, request.clone()).await)
    }
    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        self.answer(self.spoiled_read(at, range).await)
    }
    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        self.answer(self.spoiled_read_text(at, window).await)
    }
    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        self.answer(self.spoiled_write(at, content, expect).await)
    }
    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let most = if self.is(Spoil::ChangeDisregardsItsCeiling) { u64::MAX } else { most };
        self.answer(self.spoiled_change(at, change.clone(), expect, most).await)
    }
    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        self.answer(self.spoiled_make_dir(at).await)
    }
    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        self.answer(self.spoiled_remove(at, what).await)
    }
    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        self.answer(self.spoiled_rename(from, to, if_exists).await)
    }
    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        self.answer(self.spoiled_copy(from, to, if_exists).await)
    }
    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        self.answer(self.spoiled_glob(at, request.clone()).await)
    }
    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        self.answer(self.spoiled_grep(at, request.clone()).await)
    }
    fn host_files(&self) -> Option<&dyn HostFiles> {
        Some(self)
    }
}

#[async_trait]
impl HostFiles for Broken {
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened> {
        self.answer(self.spoiled_open(at, most).await)
    }
    async fn read_attributes(&self, at: &Resolved, prefix: &str) -> Result<Attributes> {
        self.inner.attributes(at, prefix).await
    }
    async fn write_attributes(&self, at: &Resolved, attributes: &Attributes) -> Result<()> {
        match self.spoil {
            Spoil::AttributesAreForgotten => Ok(()),
            _ => self.inner.set_attributes(at, attributes).await,
        }
    }
    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        match self.spoil {
            Spoil::NamesAreTheirOwnOthers => Ok(files.iter().map(|file| vec![file.real.clone()]).collect()),
            _ => self.inner.other_names(files).await,
        }
    }
    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        self.inner.identify(at).await
    }
    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        self.inner.origins().await
    }
    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        self.inner.names_of(files).await
    }
}
