//! Locks of kept sessions, between processes: one who makes or ends a session is alone with it, and whoever uses it
//! can be told from nobody.
//!
//! Invariant: a lock counts only while its file is the one of that name. The kernel lets go of those of the dead.

use std::{
    fs::{File, FileTimes},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use workden_core::{Error, ErrorKind, Result};

use super::directory::lockable;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits until nobody else has it. For threads that may wait.
    pub(super) fn alone(path: &Path) -> Result<Self> {
        Self::take(path, FlockOperation::LockExclusive)?.ok_or_else(|| unusable(&Errno::AGAIN.into()))
    }

    /// Takes it if nobody else has it.
    pub(super) fn alone_now(path: &Path) -> Result<Option<Self>> {
        Self::take(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Takes it together with others.
    pub(super) fn together(path: &Path) -> Result<Self> {
        Self::take(path, FlockOperation::LockShared)?.ok_or_else(|| unusable(&Errno::AGAIN.into()))
    }

    fn take(path: &Path, how: FlockOperation) -> Result<Option<Self>> {
        loop {
            let file = lockable(path).map_err(|error| unusable(&error))?;
            match flock(&file, how) {
                Ok(()) => {}
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(unusable(&errno.into())),
            }
            // Whoever had it before may have removed the file.
            let mine = file.metadata().map_err(|error| unusable(&error))?.ino();
            if std::fs::metadata(path).is_ok_and(|there| there.ino() == mine) {
                return Ok(Some(Self { file, path: path.to_owned() }));
            }
        }
    }

    /// Notes that it is used now.
    pub(super) fn touch(&self) {
        let now = SystemTime::now();
        let _ = self.file.set_times(FileTimes::new().set_modified(now));
    }

    /// How long ago that was.
    pub(super) fn age(&self) -> Duration {
        let since = || self.file.metadata().ok()?.modified().ok()?.elapsed().ok();
        since().unwrap_or_default()
    }

    /// Removes the file, and lets go.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

pub(super) fn unusable(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the directory of the sessions cannot be used: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_alone_and_many_are_together() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("lock");
        let (one, two) = (Lock::together(&path).unwrap(), Lock::together(&path).unwrap());
        assert!(Lock::alone_now(&path).unwrap().is_none());
        drop((one, two));
        let alone = Lock::alone_now(&path).unwrap().unwrap();
        let other = path.clone();
        let waiting = std::thread::spawn(move || Lock::alone(&other).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
        // Whoever waited for a file that was removed has the lock of the new one.
        alone.remove();
        let next = waiting.join().unwrap();
        assert!(Lock::alone_now(&path).unwrap().is_none());
        next.remove();
        assert!(!path.exists());
    }
}
