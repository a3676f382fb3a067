//! Removes trees that commands have written, however deep they are and whatever modes they have.
//!
//! Invariant: every step is taken relative to the descriptor of a directory, and no link is followed. Few descriptors
//! are open at a time: what lies deeper than that is moved to the top, and removed from there.

use std::{ffi::CStr, io, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, fchmod, openat, renameat, statat, unlinkat},
    io::Errno,
};

/// How deep a directory is emptied where it is.
const DEPTH: usize = 64;

/// Removes a tree.
///
/// # Errors
///
/// What the host reports. A tree that does not exist is not an error.
pub fn remove_tree(tree: &Path) -> io::Result<()> {
    let top = match open(CWD, tree) {
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => return std::fs::remove_file(tree),
        opened => opened?,
    };
    let mut removal = Removal { top: &top, moved: 0 };
    // A pass may move directories to the top, for the next one.
    while removal.empty(&top, 0)? > 0 {}
    std::fs::remove_dir(tree)
}

struct Removal<'t> {
    top: &'t OwnedFd,
    moved: u64,
}

impl Removal<'_> {
    /// Removes what is in a directory, or moves it to the top. Returns how many entries there were.
    fn empty(&mut self, directory: &OwnedFd, depth: usize) -> io::Result<usize> {
        let mut count = 0;
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            count += 1;
            match unlinkat(directory, name, AtFlags::empty()) {
                // A directory: Linux and macOS say it differently.
                Err(Errno::ISDIR | Errno::PERM) => self.remove_directory(directory, name, depth)?,
                unlinked => unlinked?,
            }
        }
        Ok(count)
    }

    fn remove_directory(&mut self, above: &OwnedFd, name: &CStr, depth: usize) -> io::Result<()> {
        let directory = open(above, name)?;
        if depth < DEPTH {
            while self.empty(&directory, depth + 1)? > 0 {}
            return Ok(unlinkat(above, name, AtFlags::REMOVEDIR)?);
        }
        loop {
            self.moved += 1;
            let to = format!("removed-{}", self.moved);
            if statat(self.top, &to, AtFlags::SYMLINK_NOFOLLOW).is_err() {
                return Ok(renameat(above, name, self.top, &to)?);
            }
        }
    }
}

/// Opens a directory, and makes it writable for its owner: caches have directories that are not.
fn open(above: impl std::os::fd::AsFd, name: impl rustix::path::Arg + Copy) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match openat(&above, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            chmodat(&above, name, Mode::RWXU, AtFlags::empty())?;
            openat(&above, name, flags, Mode::empty())?
        }
        opened => opened?,
    };
    fchmod(&directory, Mode::RWXU)?;
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{PermissionsExt, symlink},
    };

    use super::*;

    #[test]
    fn a_tree_of_any_depth_and_mode_is_removed_and_no_link_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        fs::create_dir_all(tree.join("closed/below")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "kept").unwrap();
        fs::set_permissions(&outside, Permissions::from_mode(0o755)).unwrap();
        symlink(&outside, tree.join("link")).unwrap();
        symlink(outside.join("precious"), tree.join("closed/below/file")).unwrap();
        fs::write(tree.join("removed-1"), "a name that is taken").unwrap();
        for mode in [0o000, 0o555] {
            let closed = tree.join(format!("mode-{mode}"));
            fs::create_dir(&closed).unwrap();
            fs::write(closed.join("file"), "").unwrap();
            fs::set_permissions(&closed, Permissions::from_mode(mode)).unwrap();
        }
        // Deeper than a process may have files open, and than a path may be long.
        let here = tree.join("deep");
        fs::create_dir(&here).unwrap();
        for _ in 0..100 {
            let above = place.path().join("above");
            fs::create_dir_all(above.join("d/".repeat(20))).unwrap();
            fs::rename(&here, above.join("d/".repeat(20)).join("d")).unwrap();
            fs::rename(&above, &here).unwrap();
        }
        fs::write(here.join("file"), "").unwrap();
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "kept");
        assert_eq!(outside.metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
        remove_tree(&tree).unwrap();
        symlink(&outside, &tree).unwrap();
        remove_tree(&tree).unwrap();
        assert!(outside.join("precious").exists() && !tree.exists());
    }
}
