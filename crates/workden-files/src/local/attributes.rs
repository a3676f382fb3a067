//! The user-defined attributes of files: extended attributes below `user.`, by descriptor.
//!
//! Invariant: they are replaced under the lock of the directory, so that no writer of the content carries the old ones
//! over to a new file meanwhile. Commands can set any number of any size; no more is read than an answer may have.

use std::{
    ffi::{CStr, CString},
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    buffer::spare_capacity,
    fs::{self, XattrFlags},
    io::Errno,
};
use workden_core::{Attributes, Error, ErrorKind, Result, VirtualPath, limits};

use super::{
    Durability, Inner, entries, errors::refused, lock::DirectoryLock, metadata::sized, read::OpenFile,
    replace::look_before, root::Root,
};

/// What the names of the attributes start with that the owner of a file may define.
const USER: &str = "user.";

/// Full names and values.
type Values = Vec<(CString, Vec<u8>)>;

/// Returns the attributes whose names start with the prefix.
pub(super) fn read(root: &Root, real: &VirtualPath, prefix: &str) -> Result<Attributes> {
    let verb = "read attributes of";
    let file = OpenFile::open(root, verb, real)?;
    let fd = file.fd.as_fd();
    let found = names_of(fd, prefix).and_then(|names| values_of(fd, &names));
    let found = found.map_err(|errno| refused(verb, real, errno))?.ok_or_else(Attributes::too_large)?;
    let text = found.iter().filter_map(|(name, value)| {
        let name = name.to_str().ok()?.strip_prefix(USER)?.strip_prefix(prefix)?;
        Some((name, std::str::from_utf8(value).ok()?))
    });
    Attributes::new(prefix, text.filter(|(name, _)| !name.is_empty()))
}

/// Replaces the attributes whose names start with the prefix.
pub(super) fn write(inner: &Inner, real: &VirtualPath, attributes: &Attributes) -> Result<()> {
    let verb = "set attributes of";
    let failed = |errno| match errno {
        Errno::OPNOTSUPP | Errno::NOSYS => Error::no_attributes(real),
        errno => refused(verb, real, errno),
    };
    let (Some((directory, name)), Some(parent)) = (inner.root.parent(real).map_err(failed)?, real.parent()) else {
        return Err(Error::is_directory(verb, real));
    };
    let directory = directory.as_fd();
    let lock = DirectoryLock::take(directory).map_err(failed)?;
    lock.check_place(&inner.root, &parent, directory).map_err(failed)?;
    look_before(directory, name, verb, real)?.ok_or_else(|| Error::not_found(verb, real))?;
    let file = OpenFile::open_in(directory, name, verb, real)?;
    if entries::names(&file.stat) > 1 {
        // They would change under all of its names, and only this one was judged.
        let sentence = format!("cannot set attributes of `{real}`: the file has other names");
        return Err(
            Error::new(ErrorKind::Unsupported, sentence).hint("write the file first: that makes it a file of its own")
        );
    }
    replace(file.fd.as_fd(), attributes).map_err(failed)?;
    match inner.durability {
        Durability::FsyncNames => fs::fsync(&file.fd).map_err(failed),
        Durability::Fsync | Durability::None => Ok(()),
    }
}

fn replace(fd: BorrowedFd<'_>, attributes: &Attributes) -> Result<(), Errno> {
    let full_name = |name| CString::new(format!("{USER}{}{name}", attributes.prefix())).map_err(|_| Errno::INVAL);
    let after: Vec<(CString, &str)> =
        attributes.iter().map(|(name, value)| Ok((full_name(name)?, value))).collect::<Result<_, Errno>>()?;
    let names = names_of(fd, attributes.prefix())?;
    let before = values_of(fd, &names)?.unwrap_or_default();
    let replaced = names
        .iter()
        .filter(|name| !after.iter().any(|(new, _)| new == *name))
        .try_for_each(|name| remove(fd, name))
        .and_then(|()| after.iter().try_for_each(|(name, value)| set(fd, name, value.as_bytes())));
    if replaced.is_err() {
        // There is no room for all of the new ones. There was room for the old ones.
        for (name, _) in &after {
            let _ = remove(fd, name);
        }
        for (name, value) in &before {
            let _ = set(fd, name, value);
        }
    }
    replaced
}

/// Returns the full names that start with the prefix; none on a file system without attributes.
fn names_of(fd: BorrowedFd<'_>, prefix: &str) -> Result<Vec<CString>, Errno> {
    let listed = match sized(|buffer| fs::flistxattr(fd, spare_capacity(buffer)), || fs::flistxattr_query(fd)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        listed => listed?,
    };
    let start = format!("{USER}{prefix}");
    let names = listed.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    Ok(names.filter(|name| name.to_bytes().starts_with(start.as_bytes())).map(CStr::to_owned).collect())
}

/// Returns the values with their names; `None` if they are larger than attributes may be.
fn values_of(fd: BorrowedFd<'_>, names: &[CString]) -> Result<Option<Values>, Errno> {
    let (mut found, mut bytes) = (Vec::new(), 0);
    for name in names {
        // Without capacity, the kernel would answer the size.
        let mut value = Vec::with_capacity(limits::ATTRIBUTE_BYTES + 1);
        match fs::fgetxattr(fd, name, spare_capacity(&mut value)) {
            Ok(_) => {}
            // A command has just removed it.
            Err(Errno::NODATA) => continue,
            Err(Errno::RANGE) => return Ok(None),
            Err(errno) => return Err(errno),
        }
        bytes += value.len();
        if bytes > limits::ATTRIBUTE_BYTES {
            return Ok(None);
        }
        value.shrink_to_fit();
        found.push((name.clone(), value));
    }
    Ok(Some(found))
}

fn set(fd: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> Result<(), Errno> {
    fs::fsetxattr(fd, name, value, XattrFlags::empty())
}

fn remove(fd: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
    match fs::fremovexattr(fd, name) {
        Err(Errno::NODATA) => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use futures_executor::block_on;
    use tempfile::TempDir;
    use workden_core::{BackendExt, Expect, IfExists, Resolved, search::ListRequest};

    use super::{super::LocalBackend, *};

    const AUTHOR: &[(&str, &str)] = &[("author", "ada")];

    fn at(typed: &str) -> Resolved {
        Resolved::literal(VirtualPath::parse(typed).unwrap())
    }

    fn of(values: &[(&str, &str)]) -> Attributes {
        Attributes::new("e2b.", values.iter().copied()).unwrap()
    }

    fn place() -> (TempDir, LocalBackend) {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("a"), "old").unwrap();
        let files = LocalBackend::open(place.path()).unwrap();
        (place, files)
    }

    /// Sets an attribute as a command would.
    fn set_by_hand(file: &Path, name: &str, value: &[u8]) {
        fs::setxattr(file, name, value, XattrFlags::empty()).unwrap();
    }

    fn by_hand(file: &Path, name: &str) -> Option<Vec<u8>> {
        let mut value = Vec::with_capacity(1 << 16);
        fs::getxattr(file, name, spare_capacity(&mut value)).ok().map(|_| value)
    }

    #[test]
    fn attributes_are_replaced_as_a_whole_and_others_stay() {
        block_on(async {
            let (place, files) = place();
            let file = place.path().join("a");
            set_by_hand(&file, "user.other", b"mine");
            assert_eq!(files.attributes(&at("/a"), "e2b.").await.unwrap(), of(&[]));
            files.set_attributes(&at("/a"), &of(&[("author", "ada"), ("empty", "")])).await.unwrap();
            assert_eq!(by_hand(&file, "user.e2b.author").unwrap(), b"ada");
            assert_eq!(files.attributes(&at("/a"), "e2b.").await.unwrap(), of(&[("author", "ada"), ("empty", "")]));
            files.set_attributes(&at("/a"), &of(&[("for", "ben")])).await.unwrap();
            assert_eq!(files.attributes(&at("/a"), "e2b.").await.unwrap(), of(&[("for", "ben")]));
            assert_eq!(files.attributes(&at("/a"), "").await.unwrap().len(), 2);
            files.set_attributes(&at("/a"), &of(&[])).await.unwrap();
            assert_eq!(files.attributes(&at("/a"), "e2b.").await.unwrap(), of(&[]));
            assert_eq!(by_hand(&file, "user.other").unwrap(), b"mine");
            assert_eq!(std::fs::read(&file).unwrap(), b"old");
        });
    }

    #[test]
    fn writes_and_moves_keep_them_and_a_copy_has_none() {
        block_on(async {
            let (_place, files) = place();
            let path = |typed| VirtualPath::parse(typed).unwrap();
            files.set_attributes(&at("/a"), &of(AUTHOR)).await.unwrap();
            files.write_path(&path("/a"), "new".into(), Expect::Anything).await.unwrap();
            files.copy_path(&path("/a"), &path("/copy"), IfExists::Refuse).await.unwrap();
            files.move_path(&path("/a"), &path("/d/b"), IfExists::Refuse).await.unwrap();
            assert_eq!(files.attributes(&at("/d/b"), "e2b.").await.unwrap(), of(AUTHOR));
            assert_eq!(files.attributes(&at("/copy"), "e2b.").await.unwrap(), of(&[]));
        });
    }

    #[test]
    fn what_a_command_sets_is_bounded_and_can_be_cleared() {
        block_on(async {
            let (place, files) = place();
            let file = place.path().join("a");
            set_by_hand(&file, "user.e2b.author", b"ada");
            set_by_hand(&file, "user.e2b.binary", b"\xff");
            set_by_hand(&file, "user.e2b.", b"no name");
            assert_eq!(files.attributes(&at("/a"), "e2b.").await.unwrap(), of(AUTHOR));
            // Some file systems have no room for them.
            let large = vec![b'x'; limits::ATTRIBUTE_BYTES + 1];
            if fs::setxattr(&file, "user.e2b.large", &large, XattrFlags::empty()).is_ok() {
                let error = files.attributes(&at("/a"), "e2b.").await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::TooLarge);
                let asked = ListRequest::default().attributes("e2b.".to_owned());
                let listing = files.list_path(&VirtualPath::root(), &asked).await.unwrap();
                assert_eq!((listing.entries.len(), &listing.entries[0].attributes), (1, &None));
            }
            files.set_attributes(&at("/a"), &of(AUTHOR)).await.unwrap();
            assert_eq!(files.attributes(&at("/a"), "").await.unwrap().len(), 1);
        });
    }

    #[test]
    fn only_a_regular_file_with_one_name_gets_them() {
        block_on(async {
            let (place, files) = place();
            std::fs::hard_link(place.path().join("a"), place.path().join("twin")).unwrap();
            std::os::unix::fs::symlink("a", place.path().join("link")).unwrap();
            std::fs::create_dir(place.path().join("d")).unwrap();
            let made = std::process::Command::new("mkfifo").arg(place.path().join("pipe")).status();
            assert!(made.unwrap().success());
            std::fs::write(place.path().join("fixed"), "").unwrap();
            fs::chmod(place.path().join("fixed"), fs::Mode::RUSR).unwrap();
            for (typed, kind) in [
                ("/a", ErrorKind::Unsupported),
                // A path that was resolved has no link in it.
                ("/link", ErrorKind::Moved),
                ("/d", ErrorKind::IsDirectory),
                ("/", ErrorKind::IsDirectory),
                ("/pipe", ErrorKind::NotRegular),
                ("/fixed", ErrorKind::ReadOnly),
                ("/missing", ErrorKind::NotFound),
                ("/missing/x", ErrorKind::NotFound),
                ("/a/x", ErrorKind::NotDirectory),
            ] {
                let error = files.set_attributes(&at(typed), &of(AUTHOR)).await.unwrap_err();
                assert_eq!(error.kind(), kind, "{typed}: {error}");
                assert!(error.to_string().contains(typed), "{error}");
            }
            for typed in ["/link", "/d", "/", "/pipe", "/missing"] {
                assert!(files.attributes(&at(typed), "e2b.").await.is_err(), "{typed}");
            }
            assert_eq!(by_hand(&place.path().join("a"), "user.e2b.author"), None);
        });
    }

    #[test]
    fn a_listing_shows_them_when_asked_also_through_a_link() {
        block_on(async {
            let (place, files) = place();
            std::fs::create_dir(place.path().join("d")).unwrap();
            std::os::unix::fs::symlink("a", place.path().join("link")).unwrap();
            files.set_attributes(&at("/a"), &of(AUTHOR)).await.unwrap();
            let listed = async |asked: ListRequest| {
                let listing = files.list_path(&VirtualPath::root(), &asked).await.unwrap();
                let shown = listing.entries.into_iter().map(|entry| (entry.path.to_string(), entry.attributes));
                shown.collect::<Vec<_>>()
            };
            let author = Some(Box::new(of(AUTHOR)));
            let expected = [("/d", None), ("/a", author.clone()), ("/link", author)];
            let expected = expected.map(|(path, attributes)| (path.to_owned(), attributes));
            assert_eq!(listed(ListRequest::default().attributes("e2b.".to_owned())).await, expected);
            assert!(listed(ListRequest::default()).await.into_iter().all(|(_, attributes)| attributes.is_none()));
        });
    }

    #[test]
    fn old_attributes_stay_when_there_is_no_room_for_the_new_ones() {
        block_on(async {
            let (place, files) = place();
            // Some file systems have room for no more than 4 KiB, and some for all of this.
            set_by_hand(&place.path().join("a"), "user.other", &[b'x'; 1_500]);
            files.set_attributes(&at("/a"), &of(AUTHOR)).await.unwrap();
            let large = "x".repeat(1_800);
            let new = of(&[("a", &large), ("author", ""), ("b", &large)]);
            let expected = match files.set_attributes(&at("/a"), &new).await {
                Ok(()) => new,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
                    of(AUTHOR)
                }
            };
            assert_eq!(files.attributes(&at("/a"), "e2b.").await.unwrap(), expected);
        });
    }
}
