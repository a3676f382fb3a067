//! How much of a disk a directory takes.
//!
//! Invariant: directories are opened from their parents and no link is followed, so that nothing outside is counted,
//! whatever is swapped meanwhile.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    path::Path,
};

use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};

use super::entries;

/// What each name takes besides its blocks, so that empty files cannot fill a disk for nothing.
const NAME_BYTES: u64 = 1024;
/// Bytes of a block, as `st_blocks` counts them.
const BLOCK: u64 = 512;
/// Directories in one another that are entered; each is an open descriptor meanwhile.
const MOST_DEPTH: usize = 500;

/// Returns the bytes that the files below a directory take on its disk, without those of other file systems. A file with
/// several names counts for each by its part.
///
/// # Errors
///
/// When a directory cannot be read, or there are more than 500 in one another.
pub fn disk_usage(directory: &Path) -> io::Result<u64> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = fs::open(directory, flags, Mode::empty())?;
    let device = fs::fstat(&top)?.st_dev;
    let mut open = vec![Dir::new(top)?];
    let mut used = 0;
    loop {
        let depth = open.len();
        let Some(directory) = open.last_mut() else { break };
        let Some(entry) = directory.next() else {
            open.pop();
            continue;
        };
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let at = directory.fd()?;
        let found = match fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
            // It went away.
            Err(Errno::NOENT) => continue,
            found => found?,
        };
        if found.st_dev != device {
            continue;
        }
        let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let names = entries::names(&found);
        used += NAME_BYTES + found.st_blocks.unsigned_abs() * BLOCK / names;
        if is_directory {
            if depth == MOST_DEPTH {
                return Err(io::Error::other("too many directories in one another"));
            }
            match entered(at.as_fd(), name) {
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                entered => open.push(entered?),
            }
        }
    }
    Ok(used)
}

fn entered(above: BorrowedFd<'_>, name: &std::ffi::CStr) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Dir::new(fs::openat(above, name, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn what_is_below_counts_and_what_links_lead_to_does_not() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(place.path().join("outside"), vec![1; 10 << 20]).unwrap();
        symlink(place.path(), root.join("up")).unwrap();
        symlink("../outside", root.join("link")).unwrap();
        let empty = disk_usage(&root).unwrap();
        assert!(empty < 1 << 20, "{empty}");
        fs::write(root.join("a/b/file"), vec![1; 3 << 20]).unwrap();
        let one = disk_usage(&root).unwrap();
        assert!((empty + (3 << 20)..empty + (4 << 20)).contains(&one), "{one}");
        // Another name takes a name, and no blocks.
        fs::hard_link(root.join("a/b/file"), root.join("again")).unwrap();
        assert!(disk_usage(&root).unwrap() < one + (64 << 10));
        // A hole takes nothing.
        fs::File::create(root.join("sparse")).unwrap().set_len(1 << 40).unwrap();
        assert!(disk_usage(&root).unwrap() < one + (1 << 20));
    }

    #[test]
    fn empty_files_and_deep_trees_are_noticed() {
        let place = tempfile::tempdir().unwrap();
        for number in 0..1000 {
            fs::write(place.path().join(number.to_string()), "").unwrap();
        }
        assert!(disk_usage(place.path()).unwrap() >= 1000 * NAME_BYTES);
        let deep = place.path().join("d/".repeat(MOST_DEPTH + 1));
        fs::create_dir_all(deep).unwrap();
        assert!(disk_usage(place.path()).is_err());
        assert!(disk_usage(&place.path().join("missing")).is_err());
    }
}
