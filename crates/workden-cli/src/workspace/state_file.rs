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

use tokio::sync::Mutex;
use workden::files::{LocalBackend, StateBackend, SystemClock};
use workden_core::{BackendExt, Error, ErrorKind, Expect, Result, Version, VirtualPath, forward_backend};

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

/// Hands a call on to the files.
macro_rules! files {
    ($this:ident, $method:ident($($argument:expr),*)) => {
        $this.files.$method($($argument),*).await
    };
}

/// Makes a change, and keeps it in the file.
macro_rules! kept {
    ($this:ident, $method:ident($($argument:expr),*)) => {
        $this.keep($this.files.$method($($argument),*).await).await
    };
}

forward_backend! {
    impl[] for StateFile;
    looks: files, changes: kept, host_files: |this| this.files.host_files()
}
