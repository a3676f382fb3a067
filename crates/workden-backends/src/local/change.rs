//! The changes a backend makes: write, patch and copy in terms of [`replace`], and rename.

use std::os::fd::AsFd;

use futures_util::StreamExt;
use rustix::{
    fs::{self, AtFlags, FileType, RenameFlags},
    io::Errno,
};
use workden_core::{
    Content, Error, ErrorKind, Existing, Expect, Result, Version, VersionHasher, VirtualPath, Written,
    names::check_names,
    text::{Splice, edit::checked_splices},
};

use super::{
    Inner,
    directories::Made,
    errors::{refused, root_stays},
    lock::DirectoryLock,
    read::OpenFile,
    replace::{NewFile, Target, for_each_block, replace},
    root::kind,
};

pub(super) fn write(inner: &Inner, real: &VirtualPath, content: Content, expect: Expect) -> Result<Written> {
    replace(inner, "write", real, Target::Expect(expect), |new, _| match content {
        Content::Whole(bytes) => bytes.chunks(8 * 1024 * 1024).try_for_each(|piece| new.write(piece)),
        Content::Stream(mut stream) => {
            while let Some(piece) = futures_executor::block_on(stream.next()) {
                new.write(&piece?)?;
            }
            Ok(())
        }
    })
}

pub(super) fn patch(inner: &Inner, real: &VirtualPath, base: Version, splices: &[Splice]) -> Result<Written> {
    replace(inner, "edit", real, Target::File, |new, old| {
        let Some(old) = old else { return Err(Error::not_found("edit", real)) };
        // Out of order or past the end can also mean that the file is shorter than it was.
        let checked = checked_splices(old.size(), splices);
        let mut spliced = Spliced { new, splices: checked.as_deref().unwrap_or(&[]), next: 0, at: 0 };
        let mut hasher = VersionHasher::default();
        for_each_block(old, "edit", real, |block| {
            hasher.update(block);
            spliced.take(block)
        })?;
        spliced.finish()?;
        if hasher.finish() != base {
            return Err(Error::conflict("edit", real));
        }
        checked.map(drop)
    })
}

/// Copies content through, with splices put in where they belong.
struct Spliced<'s, 'n, 'd> {
    new: &'n mut NewFile<'d>,
    splices: &'s [(usize, usize, &'s [u8])],
    next: usize,
    at: usize,
}

impl Spliced<'_, '_, '_> {
    fn take(&mut self, block: &[u8]) -> Result<()> {
        let (start, end) = (self.at, self.at + block.len());
        let mut at = start;
        while at < end {
            match self.splices.get(self.next) {
                Some((from, to, bytes)) if *from < end => {
                    if at < *from {
                        self.new.write(&block[at - start..from - start])?;
                    }
                    if at <= *from {
                        self.new.write(bytes)?;
                    }
                    // What is left of the span is passed over, here or in the next block.
                    at = (*to).clamp(at, end);
                    if *to <= end {
                        self.next += 1;
                    }
                }
                _ => {
                    self.new.write(&block[at - start..])?;
                    at = end;
                }
            }
        }
        self.at = end;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        for (_, _, bytes) in self.splices.iter().skip(self.next).filter(|(from, _, _)| *from >= self.at) {
            self.new.write(bytes)?;
        }
        Ok(())
    }
}

pub(super) fn copy(inner: &Inner, from: &VirtualPath, to: &VirtualPath, existing: Existing) -> Result<Written> {
    let source = OpenFile::open(&inner.root, "copy", from)?;
    let expect = match existing {
        Existing::Refuse => Expect::Absent,
        Existing::Replace => Expect::Anything,
    };
    replace(inner, "copy to", to, Target::Expect(expect), |new, _| {
        for_each_block(&source, "copy", from, |block| new.write(block))
    })
}

pub(super) fn rename(inner: &Inner, from: &VirtualPath, to: &VirtualPath, existing: Existing) -> Result<()> {
    check_names("move to", to)?;
    let failed = |errno| refused("move", from, errno);
    let (source, source_name) = inner.root.parent(from).map_err(failed)?.ok_or_else(|| root_stays("move"))?;
    let (Some(parent), Some(name)) = (to.parent(), to.name()) else {
        return Err(Error::already_exists("move to", to));
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
    let destination = made.open(&inner.root, "move to", &parent, inner.durability)?;
    let _locks = DirectoryLock::take_both(source.as_fd(), destination.as_fd()).map_err(failed)?;
    let failed = |errno| match errno {
        Errno::NOENT => Error::not_found("move", from),
        errno => refused("move to", to, errno),
    };
    match fs::statat(&destination, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| kind(&stat)) {
        Ok(FileType::Directory) => return Err(Error::already_exists("move to", to)),
        Ok(_) if is_directory || existing == Existing::Refuse => return Err(Error::already_exists("move to", to)),
        Ok(_) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(failed(errno)),
    }
    let renamed = match existing {
        Existing::Replace if !is_directory => fs::renameat(&source, source_name, &destination, name),
        Existing::Replace | Existing::Refuse => {
            fs::renameat_with(&source, source_name, &destination, name, RenameFlags::NOREPLACE).or_else(|errno| {
                match errno {
                    // Without it, what stood there was looked at under the lock a moment ago.
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
    inner.durability.sync(destination.as_fd()).map_err(failed)?;
    inner.durability.sync(source.as_fd()).map_err(failed)
}
