//! Prints the device and inode numbers of paths, by which a launcher checks that a mount is the intended one.
//!
//! Invariant: no link is followed, so that the answer is about the path itself.

use std::{
    io::Write,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, openat, statat},
    io::Errno,
};
use workden_core::{Error, ErrorKind, Result};

/// Prints one line per path: `DEVICE:INODE`, `-` where nothing exists or a link is on the way, and `?` where this
/// user may not look.
pub(super) fn run(places: &[PathBuf]) -> Result<()> {
    let mut said = String::new();
    for place in places {
        match look(place) {
            Ok(stat) => said.push_str(&format!("{}:{}\n", stat.st_dev, stat.st_ino)),
            Err(Errno::ACCESS) => said.push_str("?\n"),
            Err(_) => said.push_str("-\n"),
        }
    }
    std::io::stdout()
        .write_all(said.as_bytes())
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot write to standard output: {}", error.kind())))
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
}
