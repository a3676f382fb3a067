//! Replacing a file as a whole: temporary sibling, fsync, rename.
//!
//! Invariant: a reader sees the old or the new file. A file whose content was read for the change is compared again
//! right before the rename, so that a foreign writer is detected up to that moment.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::{
    fs::{self, AtFlags, Mode, OFlags, Stat},
    io::Errno,
};
use workden_core::{
    Error, ErrorKind, Expect, IfExists, Replaced, Result, Version, VersionHasher, VirtualPath, Written,
};

use super::{
    Inner,
    directories::Made,
    entries,
    errors::refused,
    lock::DirectoryLock,
    new_file::{NewFile, OldFile},
    read::{self, OpenFile},
};

/// The file that a change expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The expectation of a write; content is read only to compare a version.
    Expect(Expect),
    /// An existing file, which the change reads.
    File,
}

/// Replaces the file at `real` by the output of `produce`, which gets the current file if [`Target`] requires one.
pub(super) fn replace(
    inner: &Inner,
    verb: &'static str,
    real: &VirtualPath,
    target: Target,
    produce: impl FnOnce(&mut NewFile<'_>, Option<&OpenFile>) -> Result<()>,
) -> Result<Written> {
    match target {
        Target::File | Target::Expect(Expect::Version(_)) if inner.root.lacks(real) => {
            return Err(Error::not_found(verb, real));
        }
        Target::File | Target::Expect(_) => inner.root.check_new(verb, real)?,
    }
    let failed = |errno| refused(verb, real, errno);
    let (Some(parent), Some(name)) = (real.parent(), real.name()) else {
        return Err(Error::is_directory(verb, real));
    };
    let mut made = Made::default();
    let directory = match target {
        Target::File | Target::Expect(Expect::Version(_)) => inner.root.directory(&parent).map_err(failed)?,
        Target::Expect(Expect::Anything | Expect::Absent) => {
            made.open(&inner.root, verb, &parent, real, inner.durability)?
        }
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

    let replaced = before.map(|stat| OldFile {
        stat,
        fd: match &compared {
            Some(file) => file.fd.try_clone().ok(),
            None => read::open_for_reading(directory, name).ok(),
        },
    });
    let mut new = NewFile::create(directory, verb, real, replaced, inner.durability)?;
    produce(&mut new, compared.as_ref())?;
    new.seal()?;
    if let Some(file) = &compared {
        unchanged(directory, name, file, verb, real)?;
    }
    let version = new.version();
    let if_exists = match target {
        Target::Expect(Expect::Absent) => IfExists::Refuse,
        Target::File | Target::Expect(Expect::Anything | Expect::Version(_)) => IfExists::Replace,
    };
    new.put_in_place(name, if_exists, inner.bound_files)?;
    if let Some(replaced) = compared {
        replaced.close_later();
    }
    inner.durability.sync_names(directory).map_err(failed)?;
    made.keep();
    let replaced = if before.is_some() { Replaced::File } else { Replaced::Nothing };
    Ok(Written::new(real.clone(), version, replaced))
}

/// Returns the stat of the current file; refuses one that cannot be replaced.
pub(super) fn look_before(
    directory: BorrowedFd<'_>,
    name: &str,
    verb: &str,
    real: &VirtualPath,
) -> Result<Option<Stat>> {
    let stat = match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(refused(verb, real, errno)),
    };
    read::check_regular(verb, real, &stat)?;
    // A rename would ignore the mode, and root ignores any permission, but a read-only file should stay unchanged.
    if stat.st_mode & 0o222 == 0 {
        return Err(Error::new(ErrorKind::ReadOnly, format!("cannot {verb} `{real}`: the file is read-only"))
            .hint("make it writable first, or write to another file"));
    }
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match fs::openat(directory, name, flags, Mode::empty()) {
        // A running program can be replaced, although it cannot be written.
        Ok(_) | Err(Errno::TXTBSY) => Ok(Some(stat)),
        Err(errno) => Err(refused(verb, real, errno)),
    }
}

/// Checks that the name still leads to the file that was read, and that the file is unchanged.
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
    file.for_each_block(verb, real, |block| {
        hasher.update(block);
        Ok(())
    })?;
    Ok(hasher.finish())
}
