//! Which directories the files of a dictionary are in, remembered: a dictionary knows its keys, not what is
//! above them, and to look at all of them for each new file would make every file dearer than the last.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use workden_core::VirtualPath;

/// The directories as of the last look. Somebody else may have changed the dictionary since: it is looked at again
/// when it has another number of files, and whoever is told that there is a directory makes sure.
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
    /// Whether there seems to be a directory, among so many files; `all` are they, if they have to be looked at.
    pub(super) fn may_have(&self, path: &VirtualPath, files: usize, all: impl FnOnce() -> Vec<VirtualPath>) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.files != files {
            *seen = Seen { files, directories: HashSet::new() };
            all().iter().for_each(|file| seen.add(file));
        }
        seen.directories.contains(path)
    }

    /// A file was added, which makes so many.
    pub(super) fn added(&self, file: &VirtualPath, files: usize) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.files + 1 == files {
            seen.files = files;
            seen.add(file);
        }
    }
}
