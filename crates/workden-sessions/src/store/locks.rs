//! Locks between processes, of what is kept for a user: exclusive for a process that creates or ends a session, shared
//! for those that use it, so that a session in use is known to be in use. Packages of projects are locked the same way.
//!
//! Invariant: a lock counts only while its file is the one of that name. The kernel releases the locks of dead
//! processes.

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
use workden_core::Result;

use super::directory::{lockable, unusable};

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits for the exclusive lock, and blocks the thread.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened or locked.
    pub fn alone(path: &Path) -> Result<Self> {
        Self::take(path, FlockOperation::LockExclusive)?.ok_or_else(|| unusable(&Errno::AGAIN.into()))
    }

    /// Takes the exclusive lock if it is free.
    ///
    /// # Errors
    ///
    /// As [`Lock::alone`].
    pub fn alone_now(path: &Path) -> Result<Option<Self>> {
        Self::take(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Takes the shared lock if no process has the exclusive one.
    ///
    /// # Errors
    ///
    /// As [`Lock::alone`].
    pub fn together_now(path: &Path) -> Result<Option<Self>> {
        Self::take(path, FlockOperation::NonBlockingLockShared)
    }

    /// Takes the shared lock.
    ///
    /// # Errors
    ///
    /// As [`Lock::alone`].
    pub fn together(path: &Path) -> Result<Self> {
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
            // The previous holder may have removed the file.
            let mine = file.metadata().map_err(|error| unusable(&error))?.ino();
            if std::fs::metadata(path).is_ok_and(|there| there.ino() == mine) {
                return Ok(Some(Self { file, path: path.to_owned() }));
            }
        }
    }

    /// Makes a shared lock exclusive. Returns whether it is; it stays shared while others have it, too.
    ///
    /// # Errors
    ///
    /// When the file cannot be locked.
    pub(super) fn make_exclusive(&self) -> Result<bool> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            // The kernel has released the shared lock to try.
            Err(Errno::AGAIN) => {
                flock(&self.file, FlockOperation::LockShared).map_err(|errno| unusable(&errno.into())).map(|()| false)
            }
            Err(errno) => Err(unusable(&errno.into())),
        }
    }

    /// Records the time of use.
    pub(super) fn touch(&self) {
        let now = SystemTime::now();
        let _ = self.file.set_times(FileTimes::new().set_modified(now));
    }

    /// Returns the time since the last use.
    pub(super) fn age(&self) -> Duration {
        let since = || self.file.metadata().ok()?.modified().ok()?.elapsed().ok();
        since().unwrap_or_default()
    }

    /// Removes the file, and releases the lock.
    pub fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
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
        assert!(!one.make_exclusive().unwrap());
        assert!(Lock::alone_now(&path).unwrap().is_none());
        drop(two);
        assert!(one.make_exclusive().unwrap());
        assert!(Lock::together_now(&path).unwrap().is_none());
        drop(one);
        let alone = Lock::alone_now(&path).unwrap().unwrap();
        let other = path.clone();
        let waiting = std::thread::spawn(move || Lock::alone(&other).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
        // A process that waited for a removed file gets the lock of the new file.
        alone.remove();
        let next = waiting.join().unwrap();
        assert!(Lock::alone_now(&path).unwrap().is_none());
        next.remove();
        assert!(!path.exists());
    }
}
