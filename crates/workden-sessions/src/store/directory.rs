//! The directory of kept sessions: what is in it is believed, so that nobody else may have put it there.
//!
//! Invariant: nothing is read or written in a directory that is a link, somebody else's or writable for others, and
//! no file is reached through a link.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{ErrorKind as Io, Read, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::Path,
};

use rustix::{fs::OFlags, process::geteuid};
use workden_core::{Error, ErrorKind, Result};

use super::locks::unusable;

/// Makes it, for this user alone, if it is not there.
pub(super) fn prepare(directory: &Path) -> Result<()> {
    check(directory)?;
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| unusable(&error))?;
    check(directory)
}

/// Whether what is in it can be believed. One that is not there can.
pub(super) fn check(directory: &Path) -> Result<()> {
    let there = match directory.symlink_metadata() {
        Err(error) if error.kind() == Io::NotFound => return Ok(()),
        there => there.map_err(|error| unusable(&error))?,
    };
    let shown = directory.display();
    let refused = |what: &str, hint: String| {
        Err(Error::new(ErrorKind::PermissionDenied, format!("the directory of the sessions, `{shown}`, {what}"))
            .hint(hint))
    };
    if there.is_symlink() {
        return refused("is a symbolic link", "remove it, or name the directory itself with XDG_STATE_HOME".to_owned());
    }
    if !there.is_dir() {
        return refused("is no directory", "remove it, or name another place with XDG_STATE_HOME".to_owned());
    }
    if there.uid() != geteuid().as_raw() {
        let hint = "name a directory of yours with XDG_STATE_HOME: whoever owns this one could change what you run";
        return refused("belongs to another user", hint.to_owned());
    }
    if there.mode() & 0o022 != 0 {
        let hint = format!("see that nobody has put anything there, and `chmod go-w {shown}`");
        return refused("can be changed by others", hint);
    }
    Ok(())
}

/// All of a file; `None` when there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let mut content = Vec::new();
    let read = options().read(true).open(path).and_then(|mut file| file.read_to_end(&mut content));
    match read {
        Ok(_) => Ok(Some(content)),
        Err(error) if error.kind() == Io::NotFound => Ok(None),
        Err(error) => Err(unusable(&error)),
    }
}

/// Writes a file, or nothing of it. Whoever does holds a lock, so that they are alone with the new file.
pub(super) fn write(path: &Path, content: &[u8]) -> Result<()> {
    let new = path.with_added_extension("new");
    // Of somebody who was killed.
    let _ = std::fs::remove_file(&new);
    let written = options().write(true).create_new(true).mode(0o600).open(&new);
    let written = written.and_then(|mut file| file.write_all(content)).and_then(|()| std::fs::rename(&new, path));
    written.map_err(|error| unusable(&error))
}

/// A file to lock, which is made if it is not there.
pub(super) fn lockable(path: &Path) -> std::io::Result<File> {
    options().write(true).create(true).truncate(false).mode(0o600).open(path)
}

fn options() -> OpenOptions {
    let mut options = File::options();
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn a_directory_is_believed_when_nobody_else_could_have_changed_it() {
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
            ("file", "is no directory"),
            ("group", "changed by others"),
            ("world", "changed by others"),
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
    }
}
