//! The changes of a backend: write, change and copy by means of [`replace`], and rename.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::{
    fs::{self, AtFlags, FileType, RenameFlags},
    io::Errno,
};
use workden_core::{
    Changed, Error, ErrorKind, Expect, IfExists, Refusal, Result, Version, VirtualPath, Written, limits,
    text::{Change, ChangedLines, Outcome, splice::checked_splices},
};

use super::{
    Inner,
    directories::Made,
    errors::refused,
    lock::DirectoryLock,
    read::{OpenFile, WORTH_A_THREAD},
    replace::{Target, replace},
    root::kind,
    spool::Gathered,
};
use crate::blocking::beside;

pub(super) fn write(inner: &Inner, real: &VirtualPath, content: &Gathered, expect: Expect) -> Result<Written> {
    replace(inner, "write", real, Target::Expect(expect), |new, _| match content {
        Gathered::Whole(bytes) => new.write_all(&[bytes], 0),
        Gathered::Spooled(file) => file.for_each_block("write", real, |block| new.write(block)),
    })
}

/// Reads the file, plans the change and writes the result, all under the directory's lock.
pub(super) fn change(inner: &Inner, real: &VirtualPath, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
    let (mut outcome, mut lines) = (Outcome::Replaced(0), ChangedLines::default());
    let written = replace(inner, "edit", real, Target::File, |new, old| {
        let Some(old) = old else { return Err(Error::not_found("edit", real)) };
        let content = old.whole("edit", real, limits::EDIT_BYTES)?;
        match expect {
            Expect::Absent => return Err(Error::already_exists("edit", real)),
            Expect::Version(version) if Version::of(&content) != version => return Err(Error::conflict("edit", real)),
            Expect::Anything | Expect::Version(_) => {}
        }
        Refusal::check_size(real, content.len() as u64, most)?;
        // Most of a large file stays unchanged: the part before the change can already be written.
        let plan = if content.len() < WORTH_A_THREAD {
            change.plan(real, &content)
        } else {
            let (written, plan) =
                beside(|| new.write_ahead(&content[..content.len() / 2]), || change.plan(real, &content));
            plan.and_then(|plan| written.map(|()| plan))
        }?;
        let unchanged = plan.splices.first().map_or(content.len(), |first| usize::try_from(first.start).unwrap_or(0));
        let mut pieces = Vec::new();
        let mut at = 0;
        for (start, end, bytes) in checked_splices(content.len() as u64, &plan.splices)? {
            pieces.extend([&content[at..start], bytes]);
            at = end;
        }
        pieces.push(&content[at..]);
        Refusal::check_size(real, pieces.iter().map(|piece| piece.len() as u64).sum(), most)?;
        new.write_all(&pieces, unchanged)?;
        lines = ChangedLines::around(&content, &plan.splices);
        outcome = plan.outcome;
        Ok(())
    })?;
    Ok(Changed::new(written.path, written.version, outcome).lines(lines))
}

pub(super) fn copy(inner: &Inner, from: &VirtualPath, to: &VirtualPath, if_exists: IfExists) -> Result<Written> {
    let source = OpenFile::open(&inner.root, "copy", from)?;
    let expect = match if_exists {
        IfExists::Refuse => Expect::Absent,
        IfExists::Replace => Expect::Anything,
    };
    replace(inner, "copy to", to, Target::Expect(expect), |new, _| {
        source.for_each_block("copy", from, |block| new.write(block))
    })
}

pub(super) fn rename(inner: &Inner, from: &VirtualPath, to: &VirtualPath, if_exists: IfExists) -> Result<()> {
    inner.root.check_new("move to", to)?;
    let failed = |errno| refused("move", from, errno);
    let (source, source_name) = inner.root.parent(from).map_err(failed)?.ok_or_else(|| Error::root_stays("move"))?;
    inner.root.check_gone("move", from)?;
    let (Some(parent), Some(name)) = (to.parent(), to.name()) else {
        return Err(Error::directory_in_place("move to", to));
    };
    let is_directory = {
        let stat = fs::statat(&source, source_name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        kind(&stat) == FileType::Directory
    };
    if from == to {
        return Ok(());
    }
    if is_directory && to.is_within(from) {
        return Err(Error::new(ErrorKind::InvalidArgument, format!("cannot move `{from}` into itself, to `{to}`")));
    }
    let mut made = Made::default();
    let destination = made.open(&inner.root, "move to", &parent, to, inner.durability)?;
    let locks = DirectoryLock::take_both(source.as_fd(), destination.as_fd()).map_err(failed)?;
    for lock in std::iter::once(&locks.0).chain(&locks.1) {
        let above = from.parent().unwrap_or_else(VirtualPath::root);
        lock.check_place(&inner.root, &above, source.as_fd()).map_err(failed)?;
        lock.check_place(&inner.root, &parent, destination.as_fd()).map_err(failed)?;
    }
    let failed = |errno| match errno {
        Errno::NOENT => Error::not_found("move", from),
        // For an open, this error means that something was swapped; for a rename, that the file systems differ.
        Errno::XDEV => Error::new(
            ErrorKind::Unsupported,
            format!("cannot move `{from}` to `{to}`: they are on different file systems"),
        )
        .hint("copy it, and then remove it"),
        errno => refused("move to", to, errno),
    };
    match fs::statat(&destination, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| kind(&stat)) {
        Ok(FileType::Directory) => return Err(Error::directory_in_place("move to", to)),
        Ok(_) if is_directory => return Err(Error::file_in_place("move to", to)),
        Ok(_) if if_exists == IfExists::Refuse => return Err(Error::already_exists("move to", to)),
        Ok(_) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(failed(errno)),
    }
    let renamed = match if_exists {
        // For two names of one file, the kernel would do nothing and report success.
        IfExists::Replace if are_two_names(&locks, (source.as_fd(), source_name), (destination.as_fd(), name)) => {
            fs::unlinkat(&source, source_name, AtFlags::empty())
        }
        IfExists::Replace if !is_directory => fs::renameat(&source, source_name, &destination, name),
        IfExists::Replace | IfExists::Refuse => {
            fs::renameat_with(&source, source_name, &destination, name, RenameFlags::NOREPLACE).or_else(|errno| {
                match errno {
                    // Without `NOREPLACE`, the check of the destination under the lock a moment ago must do.
                    Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => {
                        fs::renameat(&source, source_name, &destination, name)
                    }
                    errno => Err(errno),
                }
            })
        }
    };
    renamed.map_err(failed)?;
    made.keep();
    inner.durability.sync_names(destination.as_fd()).map_err(failed)?;
    inner.durability.sync_names(source.as_fd()).map_err(failed)
}

/// Whether two names are different names of one file, so that the file stays when one of them is removed. Only under
/// the locks of both directories.
fn are_two_names(
    (_, second): &(DirectoryLock<'_>, Option<DirectoryLock<'_>>),
    (source, from): (BorrowedFd<'_>, &str),
    (destination, to): (BorrowedFd<'_>, &str),
) -> bool {
    let stat = |directory, name| fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    let (Ok(one), Ok(two)) = (stat(source, from), stat(destination, to)) else { return false };
    // In one directory, even through several mounts, two names that differ only in letter case may be the same name.
    let is_itself = second.is_none() && from.to_lowercase() == to.to_lowercase();
    kind(&one) != FileType::Directory
        && (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
        && one.st_nlink > 1
        && !is_itself
}
