//! Reading regular files, and nothing else: up to their size at the open, in bounded memory.

use std::{
    io::{self, Read},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread,
};

use bytes::Bytes;
use rustix::{
    buffer::spare_capacity,
    fs::{self, AtFlags, FileType, Mode, OFlags, Stat},
    io::Errno,
};
use workden_core::{
    ByteRange, Error, Opened, Result, Slice, VirtualPath,
    text::{Excerpt, TextSource, TextWindow, scan},
};

use super::{
    entries,
    errors::{leased, moved, not_regular, refused},
    root::{Root, kind},
};

/// A regular file that is open for reading, and its stat at that time.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) fd: OwnedFd,
    pub(super) stat: Stat,
}

impl OpenFile {
    /// Opens a file by its resolved path.
    pub(super) fn open(root: &Root, verb: &str, real: &VirtualPath) -> Result<Self> {
        match root.parent(real).map_err(|errno| refused(verb, real, errno))? {
            None => Err(Error::is_directory(verb, real)),
            Some((directory, name)) => Self::open_in(directory.as_fd(), name, verb, real),
        }
    }

    /// Opens the file `name` in an open directory.
    pub(super) fn open_in(directory: BorrowedFd<'_>, name: &str, verb: &str, real: &VirtualPath) -> Result<Self> {
        let failed = |errno| refused(verb, real, errno);
        // The stat comes before the open: opening a FIFO or a device has side effects.
        let before = fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        check_regular(verb, real, &before)?;
        let fd = open_for_reading(directory, name).map_err(|errno| match errno {
            Errno::AGAIN => leased(verb, real),
            other => failed(other),
        })?;
        let stat = fs::fstat(&fd).map_err(failed)?;
        check_regular(verb, real, &stat)?;
        Ok(Self { fd, stat })
    }

    /// Returns the size of the file when it was opened.
    pub(super) fn size(&self) -> u64 {
        entries::size(&self.stat)
    }

    /// Returns the whole content, if it has at most `most` bytes.
    pub(super) fn whole(&self, verb: &str, real: &VirtualPath, most: u64) -> Result<Bytes> {
        let size = self.size();
        if size > most {
            return Err(Error::too_large(verb, real, size, most));
        }
        read_range(self.fd.as_fd(), 0, size).map_err(|errno| refused(verb, real, errno))
    }

    /// Closes the file on another thread: closing a file that was just replaced frees all of its blocks.
    pub(super) fn close_later(self) {
        if self.size() >= WORTH_A_THREAD as u64 {
            let closed = thread::Builder::new().name("close".to_owned()).spawn(move || drop(self.fd));
            // If there is no thread, the file was closed on this one.
            drop(closed);
        }
    }

    /// Reads the file in blocks.
    pub(super) fn for_each_block(
        &self,
        verb: &str,
        real: &VirtualPath,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut block = vec![0; BLOCK_BYTES];
        let mut reader = self.reader();
        loop {
            match reader.read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(filled) => take(&block[..filled])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(refused(verb, real, Errno::from_io_error(&error).unwrap_or(Errno::IO))),
            }
        }
    }

    /// Returns a reader from the start up to the size when the file was opened.
    pub(super) fn reader(&self) -> FileReader<'_> {
        FileReader { fd: self.fd.as_fd(), at: 0, end: self.size() }
    }
}

/// Opens a name for reading without following a link and without waiting.
pub(super) fn open_for_reading(directory: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    fs::openat(directory, name, flags, Mode::empty())
}

/// Refuses files that are not regular.
pub(super) fn check_regular(verb: &str, real: &VirtualPath, stat: &Stat) -> Result<()> {
    match kind(stat) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Error::is_directory(verb, real)),
        FileType::Symlink => Err(moved(verb, real)),
        _ => Err(not_regular(verb, real)),
    }
}

/// Reads a file from the start to a fixed end, even if it grows meanwhile.
#[derive(Debug)]
pub(super) struct FileReader<'a> {
    fd: BorrowedFd<'a>,
    at: u64,
    end: u64,
}

impl<'a> FileReader<'a> {
    pub(super) fn new(fd: BorrowedFd<'a>, at: u64, end: u64) -> Self {
        Self { fd, at, end }
    }
}

impl Read for FileReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        if wanted == 0 {
            return Ok(0);
        }
        let filled = rustix::io::pread(self.fd, &mut buffer[..wanted], self.at)?;
        self.at += filled as u64;
        Ok(filled)
    }
}

impl TextSource for OpenFile {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(self.reader()))
    }
}

/// Opens a file for the caller to read.
pub(super) fn open(root: &Root, real: &VirtualPath, most: u64) -> Result<Opened> {
    let file = OpenFile::open(root, "read", real)?;
    let size = file.size();
    if size > most {
        return Err(Error::too_large("read", real, size, most));
    }
    Ok(Opened::File { file: file.fd.into(), size })
}

pub(super) fn read(root: &Root, real: &VirtualPath, range: ByteRange) -> Result<Slice> {
    let file = OpenFile::open(root, "read", real)?;
    let size = file.size();
    let (start, end) = match range {
        ByteRange::Whole { most } if size > most => return Err(Error::too_large("read", real, size, most)),
        ByteRange::Whole { .. } => (0, size),
        ByteRange::Part { offset, length } => (offset.min(size), offset.saturating_add(length).min(size)),
    };
    let bytes = read_range(file.fd.as_fd(), start, end).map_err(|errno| refused("read", real, errno))?;
    Ok(Slice::new(bytes, size).modified(entries::modified(&file.stat)))
}

/// Bytes that are read and written at a time: they stay in the processor's cache in between.
pub(super) const BLOCK_BYTES: usize = 256 * 1024;

/// The size from which a second thread saves more time than it costs.
pub(super) const WORTH_A_THREAD: usize = 2 * 1024 * 1024;

fn read_range(fd: BorrowedFd<'_>, start: u64, end: u64) -> Result<Bytes, Errno> {
    let length = usize::try_from(end - start).map_err(|_| Errno::FBIG)?;
    if length == 0 {
        return Ok(Bytes::new());
    }
    let mut content = Vec::new();
    // A file that does not fit in memory must not end the process.
    content.try_reserve_exact(length).map_err(|_| Errno::NOMEM)?;
    while content.len() < length {
        let at = start + content.len() as u64;
        match rustix::io::pread(fd, spare_capacity(&mut content), at) {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    // The allocator may have reserved more than requested, and the file may have grown into that space.
    content.truncate(length);
    Ok(Bytes::from(content))
}

pub(super) fn read_text(root: &Root, real: &VirtualPath, window: TextWindow) -> Result<Excerpt> {
    scan::excerpt(real, &OpenFile::open(root, "read", real)?, window)
}
