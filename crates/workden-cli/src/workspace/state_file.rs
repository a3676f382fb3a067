//! A workspace in memory that is kept in a file: every change is in the file before its answer is given.
//!
//! Changes that come at the same time share one write of the file. Whoever else writes it meanwhile is
//! noticed, and nothing of theirs is overwritten.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use tokio::sync::Mutex;
use workden::files::{LocalBackend, StateBackend, SystemClock};
use workden_core::{
    Backend, BackendExt, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, FileIdentity, IfExists, Opened,
    Removal, Resolved, Result, Slice, Symlink, Version, VirtualPath, Written,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

/// Files in memory, and the file that they are kept in.
#[derive(Debug)]
pub(super) struct StateFile {
    files: StateBackend,
    directory: LocalBackend,
    name: VirtualPath,
    /// How often something was changed.
    changes: AtomicU64,
    kept: Mutex<Kept>,
}

/// What is in the file.
#[derive(Debug)]
struct Kept {
    /// As many changes as this.
    changes: u64,
    /// The content that we know of; `None` for no file.
    expect: Expect,
}

impl StateFile {
    /// Opens it; where there is none yet, the workspace is empty and the first change makes it.
    pub(super) async fn open(file: &Path) -> Result<Self> {
        let shown = file.display();
        let name = file.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
            Error::new(ErrorKind::InvalidPath, format!("`{shown}` is no name of a file that can be kept"))
        })?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = LocalBackend::open(parent)
            .map_err(|_| Error::new(ErrorKind::NotFound, format!("there is no directory for `{shown}`")))?;
        let name = VirtualPath::root().child(name)?;
        let clock = Arc::new(SystemClock);
        let (files, expect) = match directory.read_bytes(&name).await {
            Ok(bytes) => {
                let text = std::str::from_utf8(&bytes)
                    .map_err(|_| Error::new(ErrorKind::NotText, format!("`{shown}` is not UTF-8")))?;
                let files = StateBackend::from_json(text, clock).map_err(|error| {
                    Error::new(error.kind(), format!("`{shown}`: {}", error.sentence()))
                        .hint("an empty workspace is {\"files\": {}}; a file that is not there yet is one, too")
                })?;
                (files, Expect::Version(Version::of(&bytes)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (StateBackend::new(clock), Expect::Absent),
            Err(error) => return Err(error),
        };
        let kept = Mutex::new(Kept { changes: 0, expect });
        Ok(Self { files, directory, name, changes: AtomicU64::new(0), kept })
    }

    /// Sees to it that what was changed until now is in the file.
    async fn keep<T>(&self, changed: Result<T>) -> Result<T> {
        let changed = changed?;
        let mine = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        let mut kept = self.kept.lock().await;
        if kept.changes >= mine {
            // Somebody who came later was quicker, and kept this as well.
            return Ok(changed);
        }
        let until = self.changes.load(Ordering::SeqCst);
        let document = self.files.to_json()?;
        let written = self.directory.write_path(&self.name, document.into(), kept.expect).await.map_err(not_kept)?;
        *kept = Kept { changes: until, expect: Expect::Version(written.version) };
        Ok(changed)
    }
}

fn not_kept(error: Error) -> Error {
    let (kind, why) = match error.kind() {
        // Not `Conflict`: that would speak of the file that was changed in the workspace.
        ErrorKind::Conflict | ErrorKind::AlreadyExists | ErrorKind::NotFound => {
            (ErrorKind::Busy, "somebody else has changed the file of this workspace")
        }
        kind => (kind, error.sentence()),
    };
    Error::new(kind, format!("the change is made in memory and not kept: {why}"))
        .hint("nothing more can be kept here; whoever started workden has to start it again")
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for StateFile {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        self.files.resolve(path, symlink).await
    }
    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.files.stat(at).await
    }
    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        self.files.list(at, request).await
    }
    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        self.files.read(at, range).await
    }
    async fn open(&self, at: &Resolved, most: u64) -> Result<Opened> {
        self.files.open(at, most).await
    }
    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        self.files.read_text(at, window).await
    }
    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        self.keep(self.files.write(at, content, expect).await).await
    }
    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        self.keep(self.files.change(at, change, expect, most).await).await
    }
    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        self.keep(self.files.make_dir(at).await).await
    }
    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        self.keep(self.files.remove(at, what).await).await
    }
    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        self.keep(self.files.rename(from, to, if_exists).await).await
    }
    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        self.keep(self.files.copy(from, to, if_exists).await).await
    }
    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        self.files.glob(at, request).await
    }
    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        self.files.grep(at, request).await
    }
    async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        self.files.other_names(files).await
    }
    async fn identify(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        self.files.identify(at).await
    }
    async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        self.files.origins().await
    }
    async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        self.files.names_of(files).await
    }
}
