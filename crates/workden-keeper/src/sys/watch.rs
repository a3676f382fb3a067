//! Descriptors that the runtime watches.

use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// A descriptor that the runtime watches for reading and writing.
pub(crate) fn watched(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is the same open descriptor for as long as it lives, and the runtime has
    // it now.
    unsafe { AsyncFd::register(fd) }.map_err(Into::into)
}
