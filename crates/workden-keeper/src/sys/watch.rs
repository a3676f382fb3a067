//! Descriptors that the runtime watches.

use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the runtime, for reading and writing.
pub(crate) fn watched(fd: OwnedFd) -> std::io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` refers to the same open descriptor while it lives, and the runtime owns it now.
    unsafe { AsyncFd::register(fd) }.map_err(Into::into)
}
