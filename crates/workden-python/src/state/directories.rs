//! Caches the directories of the files in a dictionary: searching all keys for each new file would make every write
//! slower than the last.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use workden_core::VirtualPath;

/// The directories at the last scan. Python may have changed the dictionary since: it is scanned again when the number
/// of files differs, and callers verify a positive answer.
#[derive(Debug, Default)]
pub(super) struct Directories {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    files: usize,
    directories: HashSet<VirtualPath>,
}

impl Seen {
    fn add(&mut self, file: &VirtualPath) {
        let mut above = file.parent();
        while let Some(directory) = above {
            above = directory.parent();
            if !self.directories.insert(directory) {
                return;
            }
        }
    }
}

impl Directories {
    /// Whether a directory seems to exist, given the number of files; `all` returns the files for a scan.
    pub(super) fn may_have(&self, path: &VirtualPath, files: usize, all: impl FnOnce() -> Vec<VirtualPath>) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.files != files {
            *seen = Seen { files, directories: HashSet::new() };
            all().iter().for_each(|file| seen.add(file));
        }
        seen.directories.contains(path)
    }

    /// Records a new file, and the new number of files.
    pub(super) fn added(&self, file: &VirtualPath, files: usize) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.files + 1 == files {
            seen.files = files;
            seen.add(file);
        }
    }
}
