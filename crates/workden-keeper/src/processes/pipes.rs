//! Ends of pipes and terminals, watched by the runtime. Reads never block.

use std::os::fd::OwnedFd;

use rustix::{buffer::spare_capacity, io::Errno, pipe::PipeFlags};
use tokio::io::unix::AsyncFd;
use workden_core::Result;

use super::failure::broken;
use crate::sys;

/// Bytes of one read: the capacity of a pipe.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// The most that a terminal holds and `FIONREAD` does not count, because its line discipline has not seen it yet:
/// 64 KiB in the kernel's flip buffers, rounded up.
const UNCOUNTED_BYTES: usize = 2 * READ_BYTES;

/// An end of a pipe or a terminal that this process reads from or writes to.
#[derive(Debug)]
pub(crate) struct Watched(AsyncFd<OwnedFd>);

/// Creates a pipe to read from. Returns our end, and the one for the command.
pub(crate) fn from_command() -> Result<(Watched, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|why| broken("open a pipe", why))?;
    Ok((Watched::new(reader)?, writer))
}

/// Creates a pipe to write to. Returns our end, and the one for the command.
pub(crate) fn to_command() -> Result<(Watched, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|why| broken("open a pipe", why))?;
    Ok((Watched::new(writer)?, reader))
}

impl Watched {
    pub(crate) fn new(fd: OwnedFd) -> Result<Self> {
        rustix::io::ioctl_fionbio(&fd, true).map_err(|why| broken("set up a pipe", why))?;
        let watched = sys::watched(fd).map_err(|_| broken("watch a pipe", Errno::IO))?;
        Ok(Self(watched))
    }

    pub(crate) fn fd(&self) -> &OwnedFd {
        self.0.get_ref()
    }

    /// Waits for bytes, and appends them to the buffer. Returns how many; zero is the end.
    pub(crate) async fn read(&self, buffer: &mut Vec<u8>, most: usize) -> usize {
        loop {
            let Ok(mut ready) = self.0.readable().await else { return 0 };
            match ready.try_io(|fd| Ok(read_into(fd.get_ref(), buffer, most)?)) {
                Ok(Ok(read)) => return read,
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // A terminal that no process has open answers with an error.
                Ok(Err(_)) => return 0,
                Err(_not_ready) => {}
            }
        }
    }

    /// Reads to the end, and discards everything.
    pub(crate) async fn discard(&self) {
        let mut dropped = Vec::new();
        while self.read(&mut dropped, READ_BYTES).await > 0 {
            dropped.clear();
        }
    }

    /// Reads what is there now, and little of what comes later. Returns whether the pipe has ended.
    pub(crate) fn drain(&self, mut each: impl FnMut(&[u8])) -> AtEnd {
        let pipe = self.fd();
        // A command that never stops printing must not keep the loop going.
        let counted = usize::try_from(rustix::io::ioctl_fionread(pipe).unwrap_or(0)).unwrap_or(0);
        let mut left = counted.max(UNCOUNTED_BYTES);
        let mut buffer = Vec::new();
        loop {
            buffer.clear();
            match read_into(pipe, &mut buffer, READ_BYTES) {
                Ok(0) => return AtEnd::Yes,
                Ok(read) => {
                    each(&buffer);
                    if read > left {
                        return AtEnd::No;
                    }
                    left -= read;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return AtEnd::No,
                Err(_) => return AtEnd::Yes,
            }
        }
    }

    /// Writes all bytes, as fast as the other side reads.
    pub(crate) async fn write_all(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            let mut ready = self.0.writable().await.map_err(|_| Errno::IO)?;
            match ready.try_io(|fd| Ok(rustix::io::write(fd.get_ref(), bytes)?)) {
                Ok(Ok(written)) => bytes = &bytes[written..],
                Ok(Err(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(Err(error)) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
                Err(_not_ready) => {}
            }
        }
        Ok(())
    }
}

/// Whether a pipe has ended: no process can write to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtEnd {
    Yes,
    No,
}

/// Appends the content of a pipe to a buffer. Returns how many bytes; zero is the end.
fn read_into(fd: &OwnedFd, buffer: &mut Vec<u8>, most: usize) -> Result<usize, Errno> {
    // Reserve what is available, not more: most commands print little.
    let there = usize::try_from(rustix::io::ioctl_fionread(fd).unwrap_or(0)).unwrap_or(0);
    buffer.reserve(there.clamp(1, most));
    rustix::io::read(fd, spare_capacity(buffer))
}
