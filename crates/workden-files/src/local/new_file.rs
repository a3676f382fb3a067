//! The new file that is written beside the file it replaces.
//!
//! Invariant: the new file has a reserved name until it is put in place, and is removed if that does not happen. Under
//! the directory's lock there is only one new file, always with the same name, so that the next writer finds and
//! removes the file of a dead writer.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    fs::{self, AtFlags, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};
use workden_core::{Error, ErrorKind, IfExists, Result, Version, VersionHasher, VirtualPath, names::TEMPORARY_PREFIX};

use super::{
    BoundFiles, Durability,
    errors::{moved, refused},
    metadata,
    read::{BLOCK_BYTES, OpenFile, WORTH_A_THREAD},
};
use crate::blocking::beside;

/// The new file that replaces another; removed again unless it is put in place.
pub(super) struct NewFile<'a> {
    directory: BorrowedFd<'a>,
    fd: OwnedFd,
    name: Option<String>,
    hasher: VersionHasher,
    written: u64,
    verb: &'static str,
    real: &'a VirtualPath,
    durability: Durability,
    replaced: Option<OldFile>,
    is_sealed: bool,
    ahead: u64,
    pushed: u64,
}

/// How much is written before the disk is asked to start writing it.
const PUSH_BYTES: u64 = 1 << 20;

/// The file to be replaced; open if it may be read.
#[derive(Debug)]
pub(super) struct OldFile {
    pub(super) stat: Stat,
    pub(super) fd: Option<OwnedFd>,
}

impl<'a> NewFile<'a> {
    /// Creates the file, under the directory's lock.
    pub(super) fn create(
        directory: BorrowedFd<'a>,
        verb: &'static str,
        real: &'a VirtualPath,
        replaced: Option<OldFile>,
        durability: Durability,
    ) -> Result<Self> {
        // No other user may open the file before it has the mode of the file that it replaces.
        let mode = Mode::from_raw_mode(if replaced.is_some() { 0o600 } else { 0o666 });
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for nth in 0..8 {
            let name = format!("{TEMPORARY_PREFIX}{nth}");
            let created = match fs::openat(directory, &name, flags, mode) {
                Err(Errno::EXIST) => {
                    // A dead writer left this file: this call holds the lock, so no living writer uses it.
                    let _ = fs::unlinkat(directory, &name, AtFlags::empty());
                    fs::openat(directory, &name, flags, mode)
                }
                other => other,
            };
            match created {
                // The file with this name cannot be removed; try the next name.
                Err(Errno::EXIST) => {}
                // The directory itself was removed after it was opened.
                Err(Errno::NOENT) => return Err(moved(verb, real)),
                Err(errno) => return Err(refused(verb, real, errno)),
                Ok(fd) => {
                    return Ok(Self {
                        directory,
                        fd,
                        name: Some(name),
                        hasher: VersionHasher::default(),
                        written: 0,
                        verb,
                        real,
                        durability,
                        replaced,
                        is_sealed: false,
                        ahead: 0,
                        pushed: 0,
                    });
                }
            }
        }
        Err(Error::new(
            ErrorKind::Busy,
            format!("cannot {verb} `{real}`: its directory has no room for a temporary file"),
        ))
    }

    /// Returns the file and removes its name.
    pub(super) fn without_name(self) -> Result<OwnedFd> {
        self.fd.try_clone().map_err(|_| refused(self.verb, self.real, Errno::MFILE))
    }

    /// Appends to the content.
    pub(super) fn write(&mut self, content: &[u8]) -> Result<()> {
        // Written in blocks that are still in the processor's cache when the kernel copies them.
        content.chunks(BLOCK_BYTES).try_for_each(|block| {
            self.hasher.update(block);
            self.write_block(block)
        })
    }

    /// Writes the probable start of the content, while the rest is still being planned. This is provisional:
    /// `write_all` keeps the part that fits.
    pub(super) fn write_ahead(&mut self, beginning: &[u8]) -> Result<()> {
        beginning.chunks(BLOCK_BYTES).try_for_each(|block| self.write_block(block))?;
        self.ahead = self.written;
        Ok(())
    }

    /// Writes the whole content from pieces in memory. The first `ahead` bytes of the pieces may have been written
    /// ahead, and are not written again. For large content, the version is computed in parallel.
    pub(super) fn write_all(&mut self, pieces: &[&[u8]], ahead: usize) -> Result<()> {
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        if total < WORTH_A_THREAD && self.ahead == 0 {
            return pieces.iter().try_for_each(|piece| self.write(piece));
        }
        self.written = self.ahead.min(ahead as u64);
        if self.ahead > total as u64 {
            fs::ftruncate(&self.fd, total as u64).map_err(|errno| refused(self.verb, self.real, errno))?;
        }
        let hasher = self.hasher.clone();
        let (sealed, hasher) = beside(
            || self.write_rest(pieces).and_then(|()| self.seal()),
            || {
                let mut hasher = hasher.clone();
                pieces.iter().for_each(|piece| hasher.update(piece));
                hasher
            },
        );
        self.hasher = hasher;
        sealed
    }

    /// Copies the metadata of the replaced file, and waits for the disk.
    pub(super) fn seal(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_sealed, true) {
            return Ok(());
        }
        let carried = match &self.replaced {
            None => Ok(()),
            Some(OldFile { stat, fd: Some(old) }) => metadata::carry_over(old.as_fd(), stat, self.fd.as_fd()),
            // A file that may be written but not read keeps its mode; its attributes cannot be read.
            Some(OldFile { stat, fd: None }) => fs::fchmod(&self.fd, Mode::from_raw_mode(stat.st_mode & 0o777)),
        };
        let synced = carried.and_then(|()| self.durability.sync_content(self.fd.as_fd()));
        synced.map_err(|errno| refused(self.verb, self.real, errno))
    }

    /// Returns the version of the written content.
    pub(super) fn version(&self) -> Version {
        self.hasher.finish()
    }

    /// Writes the part of the pieces that is not yet written.
    fn write_rest(&mut self, pieces: &[&[u8]]) -> Result<()> {
        let mut skip = usize::try_from(self.written).unwrap_or(usize::MAX);
        for piece in pieces {
            let rest = piece.get(skip..).unwrap_or_default();
            skip = skip.saturating_sub(piece.len());
            rest.chunks(BLOCK_BYTES).try_for_each(|block| self.write_block(block))?;
        }
        Ok(())
    }

    /// Asks the disk to start writing, if the call will wait for it: the disk then works while the rest is written,
    /// instead of after it.
    fn push_to_disk(&mut self) {
        if self.durability != Durability::None && self.written >= self.pushed + PUSH_BYTES {
            #[cfg(target_os = "linux")]
            {
                // Dirty pages cannot be dropped; Linux starts to write them. This is only a hint: the final sync
                // ensures that everything is written.
                let length = std::num::NonZeroU64::new(self.written - self.pushed);
                let _ = fs::fadvise(&self.fd, self.pushed, length, fs::Advice::DontNeed);
            }
            self.pushed = self.written;
        }
    }

    fn write_block(&mut self, block: &[u8]) -> Result<()> {
        let mut rest = block;
        while !rest.is_empty() {
            match rustix::io::pwrite(&self.fd, rest, self.written) {
                Ok(count) => {
                    self.written += count as u64;
                    rest = &rest[count..];
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(refused(self.verb, self.real, errno)),
            }
        }
        self.push_to_disk();
        Ok(())
    }

    /// Renames the new file to the name of the file that it replaces.
    pub(super) fn put_in_place(mut self, name: &str, if_exists: IfExists, bound: BoundFiles) -> Result<()> {
        let Some(temporary) = self.name.take() else { return Ok(()) };
        let renamed = match if_exists {
            IfExists::Refuse => rename_to_free(self.directory, &temporary, name),
            IfExists::Replace => fs::renameat(self.directory, &temporary, self.directory, name),
        };
        match renamed {
            Ok(()) => Ok(()),
            Err(errno) => {
                self.name = Some(temporary);
                match (errno, bound) {
                    (Errno::BUSY, BoundFiles::WriteInPlace) => self.write_in_place(name),
                    (Errno::BUSY, BoundFiles::Refuse) => Err(Error::new(
                        ErrorKind::Busy,
                        format!(
                            "cannot {} `{}`: it is mounted on its own, and cannot be replaced whole",
                            self.verb, self.real
                        ),
                    )
                    .hint("write to another file, or let its owner allow writing such files in place")),
                    _ => Err(refused(self.verb, self.real, errno)),
                }
            }
        }
    }

    /// Overwrites a file that is a mount: not atomic, so an option must request it.
    fn write_in_place(&self, name: &str) -> Result<()> {
        let failed = |errno| refused(self.verb, self.real, errno);
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let bound = fs::openat(self.directory, name, flags, Mode::empty()).map_err(failed)?;
        let stat = fs::fstat(&self.fd).map_err(failed)?;
        let content = OpenFile { fd: self.fd.try_clone().map_err(|_| moved(self.verb, self.real))?, stat };
        let mut at = 0;
        content.for_each_block(self.verb, self.real, |mut block| {
            while !block.is_empty() {
                let count = rustix::io::pwrite(&bound, block, at).map_err(failed)?;
                at += count as u64;
                block = &block[count..];
            }
            Ok(())
        })?;
        fs::ftruncate(&bound, at).map_err(failed)?;
        fs::fsync(&bound).map_err(failed)
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::unlinkat(self.directory, name, AtFlags::empty());
        }
    }
}

/// Renames a file to a name that must be free.
pub(super) fn rename_to_free(directory: BorrowedFd<'_>, from: &str, to: &str) -> Result<(), Errno> {
    match fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // On file systems without this flag, a hard link does not replace a file either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::linkat(directory, from, directory, to, AtFlags::empty())?;
            fs::unlinkat(directory, from, AtFlags::empty())
        }
        renamed => renamed,
    }
}
