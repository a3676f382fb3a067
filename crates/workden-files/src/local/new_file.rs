//! The file that is written beside the one it is to replace.
//!
//! Invariant: it has a name of workden's own until it is put in place, and is gone when that does
//! not happen. Under the directory's lock there is only one of them, always of the same name, so
//! that the next writer finds and removes what a dead one left.

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

/// The file that is to take the place of another; gone again unless it does.
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

/// How much is written before the disk is told to begin with it.
const PUSH_BYTES: u64 = 1 << 20;

/// The file that is to be replaced; open, where it may be read.
#[derive(Debug)]
pub(super) struct OldFile {
    pub(super) stat: Stat,
    pub(super) fd: Option<OwnedFd>,
}

impl<'a> NewFile<'a> {
    /// Makes it, under the directory's lock.
    pub(super) fn create(
        directory: BorrowedFd<'a>,
        verb: &'static str,
        real: &'a VirtualPath,
        replaced: Option<OldFile>,
        durability: Durability,
    ) -> Result<Self> {
        // No other user may look in before it has the mode of the file that it replaces.
        let mode = Mode::from_raw_mode(if replaced.is_some() { 0o600 } else { 0o666 });
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for nth in 0..8 {
            let name = format!("{TEMPORARY_PREFIX}{nth}");
            let created = match fs::openat(directory, &name, flags, mode) {
                Err(Errno::EXIST) => {
                    // Left by a writer that died: we hold the lock, so no living one has it.
                    let _ = fs::unlinkat(directory, &name, AtFlags::empty());
                    fs::openat(directory, &name, flags, mode)
                }
                other => other,
            };
            match created {
                // Something that cannot be removed has the name; take the next.
                Err(Errno::EXIST) => {}
                // The directory itself was removed since it was opened.
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

    /// The file, without its name.
    pub(super) fn without_name(self) -> Result<OwnedFd> {
        self.fd.try_clone().map_err(|_| refused(self.verb, self.real, Errno::MFILE))
    }

    /// Adds to the content.
    pub(super) fn write(&mut self, content: &[u8]) -> Result<()> {
        // In blocks that are still in the processor's cache when the kernel copies them.
        content.chunks(BLOCK_BYTES).try_for_each(|block| {
            self.hasher.update(block);
            self.write_block(block)
        })
    }

    /// Writes what will most likely be the beginning, while it is still being decided what follows.
    /// Nothing is said yet: `write_all` keeps as much of it as fits.
    pub(super) fn write_ahead(&mut self, beginning: &[u8]) -> Result<()> {
        beginning.chunks(BLOCK_BYTES).try_for_each(|block| self.write_block(block))?;
        self.ahead = self.written;
        Ok(())
    }

    /// Writes pieces that are all in memory, and nothing after them. The first `ahead` bytes of them
    /// may have been written ahead: those are not written again. When they are many bytes, the
    /// version is computed beside it.
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

    /// Gives it what the file it replaces has, and waits for the disk.
    pub(super) fn seal(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_sealed, true) {
            return Ok(());
        }
        let carried = match &self.replaced {
            None => Ok(()),
            Some(OldFile { stat, fd: Some(old) }) => metadata::carry_over(old.as_fd(), stat, self.fd.as_fd()),
            // One that may be written but not read keeps its mode; its attributes cannot be seen.
            Some(OldFile { stat, fd: None }) => fs::fchmod(&self.fd, Mode::from_raw_mode(stat.st_mode & 0o777)),
        };
        let synced = carried.and_then(|()| self.durability.sync_content(self.fd.as_fd()));
        synced.map_err(|errno| refused(self.verb, self.real, errno))
    }

    /// The version of what was written.
    pub(super) fn version(&self) -> Version {
        self.hasher.finish()
    }

    /// Writes what is not yet written of the pieces.
    fn write_rest(&mut self, pieces: &[&[u8]]) -> Result<()> {
        let mut skip = usize::try_from(self.written).unwrap_or(usize::MAX);
        for piece in pieces {
            let rest = piece.get(skip..).unwrap_or_default();
            skip = skip.saturating_sub(piece.len());
            rest.chunks(BLOCK_BYTES).try_for_each(|block| self.write_block(block))?;
        }
        Ok(())
    }

    /// Lets the disk begin with what is written so far, if it will be waited for: it works while
    /// the rest is written, instead of after it.
    fn push_to_disk(&mut self) {
        if self.durability != Durability::None && self.written >= self.pushed + PUSH_BYTES {
            #[cfg(target_os = "linux")]
            {
                // What is dirty cannot be dropped; Linux starts to write it. Only a hint: whether it
                // was taken is seen to by the sync of the whole.
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

    /// Gives it the name of the file that it replaces.
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

    /// For a file that is a mount: not atomic, which is why it has to be asked for by name.
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

/// Renames where nothing may be there yet.
pub(super) fn rename_to_free(directory: BorrowedFd<'_>, from: &str, to: &str) -> Result<(), Errno> {
    match fs::renameat_with(directory, from, directory, to, RenameFlags::NOREPLACE) {
        // File systems without it: a hard link does not replace either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            fs::linkat(directory, from, directory, to, AtFlags::empty())?;
            fs::unlinkat(directory, from, AtFlags::empty())
        }
        renamed => renamed,
    }
}
