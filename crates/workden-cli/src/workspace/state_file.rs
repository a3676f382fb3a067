//! A workspace in memory that is stored in a file: a change is in the file before its call returns.
//!
//! Concurrent changes share one write of the file. If another process has written the file, the next write fails
//! and overwrites nothing.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Mutex;
use workden::files::{LocalBackend, StateBackend, SystemClock};
use workden_core::{BackendExt, Error, ErrorKind, Expect, Result, Version, VirtualPath, forward_backend};

/// Files in memory, and the file that stores them.
#[derive(Debug)]
pub(super) struct StateFile {
    files: StateBackend,
    directory: LocalBackend,
    name: VirtualPath,
    /// The number of changes so far.
    changes: AtomicU64,
    kept: Mutex<Kept>,
}

/// The state of the file.
#[derive(Debug)]
struct Kept {
    /// The number of changes that the file contains.
    changes: u64,
    /// The content that this process last read or wrote.
    expect: Expect,
}

impl StateFile {
    /// Opens a file. If it does not exist, the workspace is empty and the first change creates it.
    pub(super) async fn open(file: &Path) -> Result<Self> {
        let shown = file.display();
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| Error::new(ErrorKind::InvalidPath, format!("invalid file name `{shown}`")))?;
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = LocalBackend::open(parent)
            .map_err(|_| Error::new(ErrorKind::NotFound, format!("the directory of `{shown}` was not found")))?;
        let name = VirtualPath::root().child(name)?;
        let clock = Arc::new(SystemClock);
        let (files, expect) = match directory.read_bytes(&name).await {
            Ok(bytes) => {
                let text = std::str::from_utf8(&bytes)
                    .map_err(|_| Error::new(ErrorKind::NotText, format!("`{shown}` is not UTF-8")))?;
                let files = StateBackend::from_json(text, clock).map_err(|error| {
                    Error::new(error.kind(), format!("`{shown}`: {}", error.sentence()))
                        .hint("an empty workspace is {\"files\": {}}, or a file that does not exist")
                })?;
                (files, Expect::Version(Version::of(&bytes)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (StateBackend::new(clock), Expect::Absent),
            Err(error) => return Err(error),
        };
        let kept = Mutex::new(Kept { changes: 0, expect });
        Ok(Self { files, directory, name, changes: AtomicU64::new(0), kept })
    }

    /// Writes all changes so far to the file, after a successful call.
    async fn keep<T>(&self, changed: Result<T>) -> Result<T> {
        let changed = changed?;
        let mine = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        let mut kept = self.kept.lock().await;
        if kept.changes >= mine {
            // A later call got the lock first and wrote this change as well.
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
        // Not `Conflict`: that kind is about the file in the workspace, not the file that stores it.
        ErrorKind::Conflict | ErrorKind::AlreadyExists | ErrorKind::NotFound => {
            (ErrorKind::Busy, "another process has changed the file of this workspace")
        }
        kind => (kind, error.sentence()),
    };
    Error::new(kind, format!("the change is only in memory, not in the file: {why}"))
        .hint("tell the user to restart workden: it cannot store further changes")
}

/// Forwards a call to the files.
macro_rules! files {
    ($this:ident, $method:ident($($argument:expr),*)) => {
        $this.files.$method($($argument),*).await
    };
}

/// Makes a change and stores it.
macro_rules! kept {
    ($this:ident, $method:ident($($argument:expr),*)) => {
        $this.keep($this.files.$method($($argument),*).await).await
    };
}

forward_backend! {
    impl[] for StateFile;
    looks: files, changes: kept, host_files: |this| this.files.host_files()
}
