//! Prints the device and inode numbers of paths, and whether they are empty, by which a launcher checks that a mount
//! is the intended one.
//!
//! Invariant: no link is followed, so that the answer is about the path itself.

use std::{
    io::Write,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, makedev, openat, statat},
    io::Errno,
};
use workden_core::{Error, ErrorKind, Result};

/// Identifies the running kernel, to which the numbers belong.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Prints the boot id of the kernel, or an empty line, then one line per path: `DEVICE:INODE:empty` or
/// `DEVICE:INODE:full`, `-` where nothing exists or a link is on the way, and `?` where this user may not look.
pub(super) fn run(places: &[PathBuf]) -> Result<()> {
    let mut said = std::fs::read_to_string(BOOT_ID).unwrap_or_default().trim().to_owned();
    said.push('\n');
    for place in places {
        match look(place) {
            Ok(stat) => {
                let content = if is_empty(&stat, place) { "empty" } else { "full" };
                said.push_str(&format!("{}:{}:{content}\n", stat.st_dev, stat.st_ino));
            }
            Err(Errno::ACCESS) => said.push_str("?\n"),
            Err(_) => said.push_str("-\n"),
        }
    }
    std::io::stdout()
        .write_all(said.as_bytes())
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot write to standard output: {}", error.kind())))
}

/// Whether nothing can be read there: a file without bytes, `/dev/null`, a directory without entries.
fn is_empty(stat: &Stat, place: &Path) -> bool {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => stat.st_size == 0,
        FileType::CharacterDevice => stat.st_rdev == makedev(1, 3),
        FileType::Directory => std::fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none()),
        _ => false,
    }
}

fn look(place: &Path) -> std::result::Result<Stat, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here: OwnedFd = openat(CWD, "/", flags, Mode::empty())?;
    let mut names = place.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let mut name = names.next();
    while let Some(this) = name {
        name = names.next();
        if name.is_none() {
            return statat(&here, this, AtFlags::SYMLINK_NOFOLLOW);
        }
        here = openat(&here, this, flags, Mode::empty())?;
    }
    fstat(&here)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn places_are_looked_at_and_links_are_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("directory")).unwrap();
        std::fs::write(real.join("directory/file"), "").unwrap();
        symlink("directory", real.join("link")).unwrap();
        for name in ["directory", "directory/file"] {
            let path = real.join(name);
            assert_eq!(look(&path).unwrap().st_ino, path.metadata().unwrap().ino());
        }
        assert!(look(&real.join("link/file")).is_err());
        assert_ne!(look(&real.join("link")).unwrap().st_ino, real.join("directory").metadata().unwrap().ino());
        assert!(look(Path::new("/")).is_ok());
    }

    #[test]
    fn nothing_to_read_is_empty() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir(place.path().join("none")).unwrap();
        std::fs::write(place.path().join("file"), "x").unwrap();
        std::fs::write(place.path().join("blank"), "").unwrap();
        let empty = |path: &Path| is_empty(&look(path).unwrap(), path);
        let names = ["none", "file", "blank", "."].map(|name| empty(&place.path().canonicalize().unwrap().join(name)));
        assert_eq!(names, [true, false, true, false]);
        assert_eq!(["/dev/null", "/dev/zero"].map(|path| empty(Path::new(path))), [true, false]);
    }
}
