//! A lock on a directory: workden's writers hold it while they change the names in the directory.
//!
//! Threads of one process wait for each other on a table in memory; processes wait on `flock`, which the kernel
//! releases when its holder dies. On a file system without `flock`, only the table protects.

use std::{
    collections::HashSet,
    os::fd::{AsFd, BorrowedFd},
    sync::{Condvar, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{self, FlockOperation},
    io::Errno,
};
use workden_core::VirtualPath;

use super::root::Root;

/// How long a writer waits for other writers.
const PATIENCE: Duration = Duration::from_secs(20);
const SHORTEST_WAIT: Duration = Duration::from_micros(100);
const LONGEST_WAIT: Duration = Duration::from_millis(5);

pub(super) type DirectoryId = (u64, u64);

static HELD: Mutex<Option<HashSet<DirectoryId>>> = Mutex::new(None);
static RELEASED: Condvar = Condvar::new();

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub(super) struct DirectoryLock<'fd> {
    directory: BorrowedFd<'fd>,
    id: DirectoryId,
    waited: Waited,
}

/// Whether the lock was free. After a wait, the directory may have been moved or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Waited {
    Not,
    ForOthers,
}

impl<'fd> DirectoryLock<'fd> {
    /// Waits for the lock on an open directory; `Errno::BUSY` if it stays taken.
    pub(super) fn take(directory: BorrowedFd<'fd>) -> Result<Self, Errno> {
        Self::take_within(directory, PATIENCE)
    }

    /// Takes the lock if it is free. For a caller that holds another lock: only [`Self::take_both`] may wait, because
    /// it has an order.
    pub(super) fn take_if_free(directory: BorrowedFd<'fd>) -> Result<Self, Errno> {
        Self::take_within(directory, Duration::ZERO)
    }

    fn take_within(directory: BorrowedFd<'fd>, patience: Duration) -> Result<Self, Errno> {
        let id = identify(directory)?;
        let deadline = Instant::now() + patience;
        let waited = wait_for_threads(id, deadline)?;
        // From here on, dropping releases the lock.
        let mut lock = Self { directory, id, waited };
        lock.waited = waited.max(wait_for_processes(directory, deadline)?);
        Ok(lock)
    }

    /// Checks after a wait that a directory, opened before the lock was taken, is still at `real`; `Errno::STALE` if it
    /// is not.
    pub(super) fn check_place(&self, root: &Root, real: &VirtualPath, opened: BorrowedFd<'_>) -> Result<(), Errno> {
        if self.waited == Waited::Not {
            return Ok(());
        }
        match root.directory(real).and_then(|there| identify(there.as_fd())) {
            Ok(there) if there == identify(opened)? => Ok(()),
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => Err(Errno::STALE),
            Err(errno) => Err(errno),
        }
    }

    /// Takes the locks of two directories, always in the same order; one lock if they are the same.
    pub(super) fn take_both(first: BorrowedFd<'fd>, second: BorrowedFd<'fd>) -> Result<(Self, Option<Self>), Errno> {
        let (one, two) = (identify(first)?, identify(second)?);
        if one == two {
            return Ok((Self::take(first)?, None));
        }
        let (first, second) = if one < two { (first, second) } else { (second, first) };
        let lock = Self::take(first)?;
        Ok((lock, Some(Self::take(second)?)))
    }
}

impl Drop for DirectoryLock<'_> {
    fn drop(&mut self) {
        // The descriptor is closed soon after, but another thread may already be waiting.
        let _ = fs::flock(self.directory, FlockOperation::Unlock);
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = held.as_mut() {
            held.remove(&self.id);
        }
        RELEASED.notify_all();
    }
}

pub(super) fn identify(directory: BorrowedFd<'_>) -> Result<DirectoryId, Errno> {
    let stat = fs::fstat(directory)?;
    #[expect(clippy::useless_conversion, reason = "the types differ between systems")]
    Ok((u64::try_from(stat.st_dev).unwrap_or(0), u64::from(stat.st_ino)))
}

fn wait_for_threads(id: DirectoryId, deadline: Instant) -> Result<Waited, Errno> {
    let mut waited = Waited::Not;
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    while !held.get_or_insert_default().insert(id) {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Errno::BUSY);
        }
        waited = Waited::ForOthers;
        held = RELEASED.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    Ok(waited)
}

fn wait_for_processes(directory: BorrowedFd<'_>, deadline: Instant) -> Result<Waited, Errno> {
    let mut waited = Waited::Not;
    let mut wait = SHORTEST_WAIT;
    loop {
        match fs::flock(directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(waited),
            Err(Errno::WOULDBLOCK) if Instant::now() >= deadline => return Err(Errno::BUSY),
            Err(Errno::WOULDBLOCK | Errno::INTR) => thread::sleep(wait),
            // This file system has no locks.
            Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::BADF | Errno::NOSYS | Errno::INVAL) => return Ok(waited),
            Err(errno) => return Err(errno),
        }
        waited = Waited::ForOthers;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_through_separate_descriptors() {
        let directory = tempfile::tempdir().unwrap();
        let counter = Mutex::new((0, 0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let fd = std::fs::File::open(directory.path()).unwrap();
                        let _lock = DirectoryLock::take(fd.as_fd()).unwrap();
                        counter.lock().unwrap().0 += 1;
                        assert_eq!(counter.lock().unwrap().0, 1, "two holders at once");
                        thread::yield_now();
                        let mut counter = counter.lock().unwrap();
                        counter.0 -= 1;
                        counter.1 += 1;
                    }
                });
            }
        });
        assert_eq!(counter.lock().unwrap().1, 400);
    }
}
