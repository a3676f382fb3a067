//! The directory of what is kept for a user: sessions, and packages of projects. Its content is trusted, so that no
//! other user may have written it.
//!
//! Invariant: nothing is read or written in a directory that is a link, belongs to another user or is writable for
//! others, and no file is reached through a link.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{ErrorKind as Io, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::{
    fs::{OFlags, statfs},
    process::geteuid,
};
use workden_core::{Error, ErrorKind, Result};

/// Most bytes of a file of the store: a record lists the masked paths of a session.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// The file systems that have id-mapped mounts: ext4, xfs, btrfs, f2fs and tmpfs.
const MAPPABLE: [i128; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

/// Creates the directory, for this user alone, if it does not exist.
///
/// # Errors
///
/// As [`check`], and what the host reports.
pub fn prepare(directory: &Path) -> Result<()> {
    check(directory)?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| unusable(&error))?;
    check(directory)
}

/// Rejects a directory whose content cannot be trusted. One that does not exist passes.
///
/// # Errors
///
/// `PermissionDenied` when another user could have changed it, and what the host reports.
pub fn check(directory: &Path) -> Result<()> {
    let there = match directory.symlink_metadata() {
        Err(error) if error.kind() == Io::NotFound => return Ok(()),
        there => there.map_err(|error| unusable(&error))?,
    };
    let shown = directory.display();
    let refused = |what: &str, hint: String| {
        Err(Error::new(ErrorKind::PermissionDenied, format!("the state directory `{shown}` {what}")).hint(hint))
    };
    if there.is_symlink() {
        return refused("is a symbolic link", "remove it, or set XDG_STATE_HOME to the directory itself".to_owned());
    }
    if !there.is_dir() {
        return refused("is not a directory", "remove it, or set XDG_STATE_HOME to another directory".to_owned());
    }
    if there.uid() != geteuid().as_raw() {
        let hint = "set XDG_STATE_HOME to a directory that you own: the owner of this one could change what you run";
        return refused("belongs to another user", hint.to_owned());
    }
    if there.mode() & 0o022 != 0 {
        let hint = format!("check that no other user has put files there, then run `chmod go-w {shown}`");
        return refused("is writable for other users", hint);
    }
    Ok(())
}

/// Returns whether a sandbox of this user can write to a directory here: one that root starts needs a file system with
/// id-mapped mounts.
#[must_use]
pub fn is_mappable(directory: &Path) -> bool {
    !geteuid().is_root() || statfs(directory).is_ok_and(|found| MAPPABLE.contains(&i128::from(found.f_type)))
}

/// Reads a whole file; `None` when it does not exist.
///
/// # Errors
///
/// When it is a link, not a regular file, or very large.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    // Without waiting: a FIFO may lie there.
    let read = options().read(true).open(path).and_then(|file| match file.metadata()? {
        regular if regular.is_file() && regular.len() <= MOST_BYTES => file.take(MOST_BYTES).read_to_end(&mut content),
        regular if regular.is_file() => Err(Io::FileTooLarge.into()),
        _ => Err(Io::InvalidInput.into()),
    });
    match read {
        Ok(_) => Ok(Some(content)),
        Err(error) if error.kind() == Io::NotFound => Ok(None),
        Err(error) => Err(unusable(&error)),
    }
}

/// Writes a file atomically. The caller holds a lock, so that no other process writes the new file.
///
/// # Errors
///
/// What the host reports.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let new = path.with_added_extension("new");
    // A process that was killed may have left it.
    let _ = std::fs::remove_file(&new);
    let written = options().write(true).create_new(true).mode(0o600).open(&new);
    let written = written.and_then(|mut file| file.write_all(content)).and_then(|()| std::fs::rename(&new, path));
    written.map_err(|error| unusable(&error))
}

/// Opens a file to lock, and creates it if it does not exist.
pub(super) fn lockable(path: &Path) -> std::io::Result<File> {
    options().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Returns the error for a state directory that cannot be used.
#[must_use]
pub fn unusable(error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        Io::StorageFull | Io::QuotaExceeded => ErrorKind::NoSpace,
        Io::ReadOnlyFilesystem => ErrorKind::ReadOnly,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("cannot use the state directory: {}", error.kind()))
}

fn options() -> OpenOptions {
    let mut options = File::options();
    options.custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
    options
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_directory_is_believed_when_no_other_user_could_have_changed_it() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        prepare(&at("deep/mine")).unwrap();
        assert_eq!(at("deep/mine").metadata().unwrap().mode() & 0o777, 0o700);
        check(&at("missing")).unwrap();
        symlink(at("deep/mine"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        std::fs::write(at("file"), "").unwrap();
        for (name, mode) in [("group", 0o770), ("world", 0o707), ("readable", 0o755)] {
            std::fs::create_dir(at(name)).unwrap();
            std::fs::set_permissions(at(name), std::fs::Permissions::from_mode(mode)).unwrap();
        }
        prepare(&at("readable")).unwrap();
        let mut refused = vec![
            ("link", "symbolic link"),
            ("dangling", "symbolic link"),
            ("file", "is not a directory"),
            ("group", "writable for other users"),
            ("world", "writable for other users"),
        ];
        if geteuid().is_root() {
            std::fs::create_dir(at("foreign")).unwrap();
            chown(at("foreign"), Some(48_231), None).unwrap();
            refused.push(("foreign", "another user"));
        }
        for (name, says) in refused {
            let error = prepare(&at(name)).unwrap_err();
            assert!(error.sentence().contains(says) && error.to_string().contains("hint"), "{name}: {error}");
        }
        assert!(!at("nowhere").exists());
    }

    #[test]
    fn files_are_private_and_neither_read_nor_written_through_links() {
        let place = tempfile::tempdir().unwrap();
        let (path, victim) = (place.path().join("one.json"), place.path().join("victim"));
        std::fs::write(&victim, "precious").unwrap();
        symlink(&victim, place.path().join("one.json.new")).unwrap();
        symlink(&victim, &path).unwrap();
        assert!(read(&path).is_err() && lockable(&path).is_err());
        write(&path, b"content").unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"content");
        assert_eq!(path.symlink_metadata().unwrap().mode() & 0o177_777, 0o100_600);
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        assert_eq!(read(&place.path().join("missing")).unwrap(), None);
        let fifo = place.path().join("fifo");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
        read(&fifo).unwrap_err();
        File::create(place.path().join("huge")).unwrap().set_len(MOST_BYTES + 1).unwrap();
        read(&place.path().join("huge")).unwrap_err();
    }
}
