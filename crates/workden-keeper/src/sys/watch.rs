//! Descriptors that the runtime watches.

use std::{os::fd::OwnedFd, sync::Arc};

use tokio::io::unix::AsyncFd;

/// A descriptor that the runtime watches for reading and writing.
pub(crate) fn watched(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is the same open descriptor for as long as it lives, and the runtime has
    // it now.
    unsafe { AsyncFd::register(fd) }.map_err(Into::into)
}

/// The same for one that somebody else uses as well.
pub(crate) fn watched_by_both(fd: Arc<OwnedFd>) -> std::io::Result<AsyncFd<Arc<OwnedFd>>> {
    // SAFETY: as above; the runtime's share keeps it open.
    unsafe { AsyncFd::register(fd) }.map_err(Into::into)
}
