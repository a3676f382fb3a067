//! Replacing a file whole: temporary sibling, fsync, rename.
//!
//! Invariant: under the directory's lock there is at most one temporary file, always of the same
//! name, so that the next writer finds and removes what a dead one left. A reader sees the old or
//! the new file. A file whose content was read for the change is compared again right before the
//! rename, so that a foreign writer is noticed up to that moment.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    thread,
};

use rustix::{
    fs::{self, AtFlags, Mode, OFlags, RenameFlags, Stat},
    io::Errno,
};
use workden_core::{
    Before, Error, ErrorKind, Expect, Result, Version, VersionHasher, VirtualPath, Written,
    names::{TEMPORARY_PREFIX, check_names},
};

use crate::blocking::beside;

use super::{
    BoundFiles, Durability, Inner,
    directories::Made,
    entries,
    errors::{moved, refused},
    lock::DirectoryLock,
    metadata,
    read::{self, OpenFile},
};

/// What a change wants to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// What a write expects; content is read only to compare a version.
    Expect(Expect),
    /// A file, which the change reads.
    File,
}

/// Replaces the file at `real` by what `produce` writes. It is given the file before the change
/// where [`Target`] wants one.
pub(super) fn replace(
    inner: &Inner,
    verb: &'static str,
    real: &VirtualPath,
    target: Target,
    produce: impl FnOnce(&mut NewFile<'_>, Option<&OpenFile>) -> Result<()>,
) -> Result<Written> {
    check_names(verb, real)?;
    let failed = |errno| refused(verb, real, errno);
    let (Some(parent), Some(name)) = (real.parent(), real.name()) else {
        return Err(Error::is_directory(verb, real));
    };
    let mut made = Made::default();
    let directory = match target {
        Target::File | Target::Expect(Expect::Version(_)) => inner.root.directory(&parent).map_err(failed)?,
        Target::Expect(Expect::Anything | Expect::Absent) => made.open(&inner.root, verb, &parent, inner.durability)?,
    };
    let directory = directory.as_fd();
    let lock = DirectoryLock::take(directory).map_err(failed)?;
    lock.check_place(&inner.root, &parent, directory).map_err(failed)?;

    let before = look_before(directory, name, verb, real)?;
    let compared = match (target, &before) {
        (Target::Expect(Expect::Absent), Some(_)) => return Err(Error::already_exists(verb, real)),
        (Target::File | Target::Expect(Expect::Version(_)), None) => return Err(Error::not_found(verb, real)),
        (Target::File | Target::Expect(Expect::Version(_)), Some(_)) => {
            Some(OpenFile::open_in(directory, name, verb, real)?)
        }
        (Target::Expect(Expect::Anything | Expect::Absent), _) => None,
    };
    if let (Target::Expect(Expect::Version(expected)), Some(file)) = (target, &compared)
        && version_of(file, verb, real)? != expected
    {
        return Err(Error::conflict(verb, real));
    }

    let mut new = NewFile::create(directory, verb, real, before.as_ref(), inner.durability)?;
    produce(&mut new, compared.as_ref())?;
    if let Some(stat) = &before {
        let old = match &compared {
            Some(file) => file.fd.as_fd().try_clone_to_owned().ok(),
            None => read::open_for_reading(directory, name).ok(),
        };
        // A file that may be written but not read keeps its mode; its attributes cannot be seen.
        let carried = match &old {
            Some(old) => metadata::carry_over(old.as_fd(), stat, new.fd.as_fd()),
            None => fs::fchmod(&new.fd, Mode::from_raw_mode(stat.st_mode & 0o777)),
        };
        carried.map_err(failed)?;
    }
    inner.durability.sync_content(new.fd.as_fd()).map_err(failed)?;
    if let Some(file) = &compared {
        unchanged(directory, name, file, verb, real)?;
    }
    let version = new.hasher.finish();
    new.put_in_place(name, target, inner.bound_files)?;
    if let Some(replaced) = compared {
        replaced.close_later();
    }
    inner.durability.sync_names(directory).map_err(failed)?;
    made.keep();
    let before = if before.is_some() { Before::File } else { Before::Nothing };
    Ok(Written { path: real.clone(), version, before })
}

/// What is there before a write; refuses what cannot be replaced.
fn look_before(directory: BorrowedFd<'_>, name: &str, verb: &str, real: &VirtualPath) -> Result<Option<Stat>> {
    let stat = match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(refused(verb, real, errno)),
    };
    read::check_regular(verb, real, &stat)?;
    // A rename would get past this, and root past any permission: a read-only file is a wish.
    if stat.st_mode & 0o222 == 0 {
        return Err(Error::new(ErrorKind::ReadOnly, format!("cannot {verb} `{real}`: the file is read-only"))
            .hint("make it writable first, or write to another file"));
    }
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match fs::openat(directory, name, flags, Mode::empty()) {
        // A program that runs can be replaced, though not written.
        Ok(_) | Err(Errno::TXTBSY) => Ok(Some(stat)),
        Err(errno) => Err(refused(verb, real, errno)),
    }
}

/// Makes sure that the file that was read is still the one at its name, as it was.
fn unchanged(directory: BorrowedFd<'_>, name: &str, file: &OpenFile, verb: &str, real: &VirtualPath) -> Result<()> {
    let stamp = |stat: &Stat| {
        (stat.st_dev, stat.st_ino, stat.st_size, entries::modified(stat), stat.st_ctime, stat.st_ctime_nsec)
    };
    match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) if stamp(&now) == stamp(&file.stat) => Ok(()),
        Ok(_) | Err(Errno::NOENT) => Err(Error::conflict(verb, real)),
        Err(errno) => Err(refused(verb, real, errno)),
    }
}

fn version_of(file: &OpenFile, verb: &str, real: &VirtualPath) -> Result<Version> {
    let mut hasher = VersionHasher::default();
    for_each_block(file, verb, real, |block| {
        hasher.update(block);
        Ok(())
    })?;
    Ok(hasher.finish())
}

/// Bytes that are read and written at a time: they stay in the processor's cache in between.
const BLOCK_BYTES: usize = 256 * 1024;
/// Content for which a second thread gains more than it costs.
const WORTH_A_THREAD: usize = 2 * 1024 * 1024;

/// Goes through a file in blocks.
pub(super) fn for_each_block(
    file: &OpenFile,
    verb: &str,
    real: &VirtualPath,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut reader = file.reader();
    loop {
        match std::io::Read::read(&mut reader, &mut block) {
            Ok(0) => return Ok(()),
            Ok(filled) => take(&block[..filled])?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(refused(verb, real, Errno::from_io_error(&error).unwrap_or(Errno::IO))),
        }
    }
}

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
}

impl<'a> NewFile<'a> {
    /// Makes it, under the directory's lock.
    pub(super) fn create(
        directory: BorrowedFd<'a>,
        verb: &'static str,
        real: &'a VirtualPath,
        before: Option<&Stat>,
        durability: Durability,
    ) -> Result<Self> {
        // Nobody else may look in before the mode of the file it replaces is on it.
        let mode = Mode::from_raw_mode(if before.is_some() { 0o600 } else { 0o666 });
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

    /// Adds pieces that are all in memory. When they are many bytes, their version is computed, and
    /// the first of them go to the disk, while the others are still being written.
    pub(super) fn write_pieces(&mut self, pieces: &[&[u8]]) -> Result<()> {
        let total: usize = pieces.iter().map(|piece| piece.len()).sum();
        if total < WORTH_A_THREAD {
            return pieces.iter().try_for_each(|piece| self.write(piece));
        }
        let hasher = std::mem::take(&mut self.hasher);
        let (written, hasher) = beside(
            || self.write_syncing(pieces, total as u64 / 2),
            || {
                let mut hasher = hasher.clone();
                pieces.iter().for_each(|piece| hasher.update(piece));
                hasher
            },
        );
        self.hasher = hasher;
        written
    }

    /// Writes pieces; what is there after `enough` bytes goes to the disk while the rest is written.
    fn write_syncing(&mut self, pieces: &[&[u8]], enough: u64) -> Result<()> {
        let mut early = (self.durability != Durability::None).then(|| self.fd.try_clone().ok()).flatten();
        for block in pieces.iter().flat_map(|piece| piece.chunks(BLOCK_BYTES)) {
            self.write_block(block)?;
            if self.written > enough
                && let Some(fd) = early.take()
            {
                // If there is no thread for it, or it fails, the sync of the whole sees to it.
                let _ = thread::Builder::new().name("sync".to_owned()).spawn(move || fs::fdatasync(fd));
            }
        }
        Ok(())
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
        Ok(())
    }

    fn put_in_place(mut self, name: &str, target: Target, bound: BoundFiles) -> Result<()> {
        let Some(temporary) = self.name.take() else { return Ok(()) };
        let renamed = match target {
            Target::Expect(Expect::Absent) => rename_to_free(self.directory, &temporary, name),
            Target::File | Target::Expect(Expect::Anything | Expect::Version(_)) => {
                fs::renameat(self.directory, &temporary, self.directory, name)
            }
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
        for_each_block(&content, self.verb, self.real, |mut block| {
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
