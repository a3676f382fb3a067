//! Streamed content, gathered before anything is locked: the sender may be slow or never finish, and other writers of
//! the directory must not wait for it.
//!
//! Invariant: the gathered file has no name, so that nothing is left of it if its writer dies.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytes::Bytes;
use rustix::{fs, io::Errno};
use workden_core::{Result, VirtualPath};

use super::{
    Inner,
    errors::refused,
    lock::DirectoryLock,
    new_file::{NewFile, OldFile},
    read::OpenFile,
};

/// Complete content.
#[derive(Debug)]
pub(super) enum Gathered {
    /// In memory.
    Whole(Bytes),
    /// In a file without a name.
    Spooled(OpenFile),
}

/// A file without a name that collects content.
#[derive(Debug)]
pub(super) struct Spool {
    fd: OwnedFd,
    written: u64,
}

impl Spool {
    /// Opens a spool near the destination: a directory in which the destination can be written can hold the spool, too.
    pub(super) fn open(inner: &Inner, real: &VirtualPath) -> Result<Self> {
        let failed = |errno| refused("write", real, errno);
        inner.root.check_new("write", real)?;
        let mut near = real.parent().unwrap_or_else(VirtualPath::root);
        let directory = loop {
            match (inner.root.directory(&near), near.parent()) {
                // The missing directory is made later, when the content is complete.
                (Err(Errno::NOENT), Some(above)) => near = above,
                (opened, _) => break opened.map_err(failed)?,
            }
        };
        let fd = match without_name(directory.as_fd()) {
            Ok(fd) => fd,
            Err(_) => by_taking_the_name(inner, directory.as_fd(), real)?,
        };
        Ok(Self { fd, written: 0 })
    }

    /// Appends to the content.
    pub(super) fn append(&mut self, real: &VirtualPath, mut content: &[u8]) -> Result<()> {
        while !content.is_empty() {
            match rustix::io::pwrite(&self.fd, content, self.written) {
                Ok(count) => {
                    self.written += count as u64;
                    content = &content[count..];
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(refused("write", real, errno)),
            }
        }
        Ok(())
    }

    /// Returns the content as a readable file.
    pub(super) fn finish(self, real: &VirtualPath) -> Result<Gathered> {
        let stat = fs::fstat(&self.fd).map_err(|errno| refused("write", real, errno))?;
        Ok(Gathered::Spooled(OpenFile { fd: self.fd, stat }))
    }
}

#[cfg(target_os = "linux")]
fn without_name(directory: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    use rustix::fs::{Mode, OFlags};

    fs::openat(directory, ".", OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))
}

#[cfg(not(target_os = "linux"))]
fn without_name(_: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    Err(Errno::OPNOTSUPP)
}

/// Opens a spool on file systems without unnamed files: it has the name of a temporary file for a moment, and a process
/// that dies in that moment leaves a file that the next writer removes.
fn by_taking_the_name(inner: &Inner, directory: BorrowedFd<'_>, real: &VirtualPath) -> Result<OwnedFd> {
    let failed = |errno| refused("write", real, errno);
    let _lock = DirectoryLock::take(directory).map_err(failed)?;
    // The mode of a replacement: no other user may open the file in that moment.
    let replaced = OldFile { stat: fs::fstat(directory).map_err(failed)?, fd: None };
    NewFile::create(directory, "write", real, Some(replaced), inner.durability)?.without_name()
}

#[cfg(test)]
mod tests {
    use super::{super::LocalBackend, *};

    #[test]
    fn what_is_gathered_has_no_name_and_comes_back() {
        let place = tempfile::tempdir().unwrap();
        let files = LocalBackend::open(place.path()).unwrap();
        let real = VirtualPath::parse("/not/there/yet").unwrap();
        let directory = std::fs::File::open(place.path()).unwrap();
        let taken = by_taking_the_name(&files.inner, directory.as_fd(), &real).unwrap();
        for mut spool in [Spool { fd: taken, written: 0 }, Spool::open(&files.inner, &real).unwrap()] {
            spool.append(&real, b"one ").unwrap();
            spool.append(&real, b"two").unwrap();
            assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
            match spool.finish(&real).unwrap() {
                Gathered::Spooled(file) => assert_eq!(file.whole("read", &real, 100).unwrap(), "one two"),
                Gathered::Whole(_) => panic!("it was spooled"),
            }
        }
    }
}
