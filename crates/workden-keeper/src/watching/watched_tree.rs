//! `WatchedTree`: the watched directories, and the step from events of the kernel to paths.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::inotify::{self, ReadFlags, Reader, WatchFlags},
    io::Errno,
};
use workden_core::{
    CompiledVisibility, Error, ErrorKind, Result, Sight, VirtualPath, names,
    sandbox::{FileChange, FileEvent, WatchDepth},
};

use super::{
    below,
    events::{Batch, change},
};

/// Directories of one watch. Each costs about a kilobyte of the kernel's memory, and the kernel limits them.
const MOST_DIRECTORIES: usize = 8_192;
/// Bytes of one read: room for many short names.
const READ_BYTES: usize = 64 * 1024;
/// Events of one batch; further ones stay in the kernel's queue.
const BATCH_EVENTS: usize = 4_096;
/// Directories of the machine that are not among the files of a sandbox whose root is the machine's.
const NO_FILES: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The watched directories.
pub(super) struct WatchedTree {
    notifier: OwnedFd,
    root: PathBuf,
    top: VirtualPath,
    depth: WatchDepth,
    visibility: CompiledVisibility,
    paths: HashMap<i32, VirtualPath>,
    watches: BTreeMap<VirtualPath, i32>,
}

impl WatchedTree {
    /// Watches a directory, and those below it if asked.
    pub(super) fn new(
        notifier: OwnedFd,
        root: &Path,
        top: VirtualPath,
        depth: WatchDepth,
        visibility: CompiledVisibility,
    ) -> Result<Self> {
        let (paths, watches) = Default::default();
        let mut tree = Self { notifier, root: root.to_owned(), top, depth, visibility, paths, watches };
        tree.watch(&tree.top.clone()).map_err(|errno| tree.cannot_watch(errno))?;
        if depth == WatchDepth::Tree {
            tree.watch_below(tree.top.clone(), &mut |_, _| {}).map_err(|errno| tree.cannot_watch(errno))?;
        }
        Ok(tree)
    }

    fn cannot_watch(&self, errno: Errno) -> Error {
        let error = |kind, why: &str| Error::new(kind, format!("cannot watch `{}`: {why}", self.top));
        match errno {
            Errno::NOENT => error(ErrorKind::NotFound, "directory not found"),
            Errno::NOTDIR | Errno::LOOP => error(ErrorKind::NotDirectory, "not a directory"),
            Errno::ACCESS | Errno::PERM => error(ErrorKind::PermissionDenied, "permission denied"),
            Errno::NOSPC | Errno::TOOBIG => {
                error(ErrorKind::TooLarge, &format!("more than {MOST_DIRECTORIES} directories are below it"))
                    .hint("watch a smaller directory, or only the entries of this one")
            }
            errno => error(ErrorKind::Io, &errno.to_string()),
        }
    }

    /// Watches one directory.
    fn watch(&mut self, path: &VirtualPath) -> Result<(), Errno> {
        if self.paths.len() >= MOST_DIRECTORIES {
            return Err(Errno::TOOBIG);
        }
        let directory = below::open(&self.root, path)?;
        let flags = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::EXCL_UNLINK
            | WatchFlags::ONLYDIR;
        let watch = inotify::add_watch(&self.notifier, below::path_of(&directory), flags)?;
        if let Some(before) = self.paths.insert(watch, path.clone()) {
            self.watches.remove(&before);
        }
        self.watches.insert(path.clone(), watch);
        Ok(())
    }

    /// Watches all directories below one, and tells `each` of every shown entry. A directory that goes away meanwhile,
    /// or that cannot be opened, is left out.
    fn watch_below(&mut self, top: VirtualPath, each: &mut dyn FnMut(VirtualPath, bool)) -> Result<(), Errno> {
        let mut next = VecDeque::from([top]);
        while let Some(directory) = next.pop_front() {
            let Ok(opened) = below::open(&self.root, &directory) else { continue };
            let Ok(entries) = std::fs::read_dir(below::path_of(&opened)) else { continue };
            for entry in entries.flatten() {
                let Some(path) = self.shown(&directory, entry.file_name().as_encoded_bytes()) else { continue };
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                each(path.clone(), is_directory);
                if !is_directory {
                    continue;
                }
                match self.watch(&path) {
                    Ok(()) => next.push_back(path),
                    Err(errno @ (Errno::TOOBIG | Errno::NOSPC)) => return Err(errno),
                    Err(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Returns the path of a name in a directory, if it may be shown.
    fn shown(&self, directory: &VirtualPath, name: &[u8]) -> Option<VirtualPath> {
        if names::is_temporary(name) {
            return None;
        }
        let path = directory.child(std::str::from_utf8(name).ok()?).ok()?;
        let is_file_of_sandbox = self.root != Path::new("/") || !NO_FILES.contains(&path.as_str());
        (is_file_of_sandbox && self.visibility.to_list(&path) == Sight::Shown).then_some(path)
    }

    /// Reads events that are there; none if there are no more.
    pub(super) fn read(&mut self) -> Batch {
        let mut batch = Batch::default();
        while batch.events.len() < BATCH_EVENTS && batch.end.is_none() {
            let queued = self.queued();
            if queued.is_empty() {
                break;
            }
            for (watch, flags, name) in queued {
                self.take(&mut batch, watch, flags, name.as_deref());
            }
        }
        batch
    }

    /// Takes one buffer of events out of the kernel's queue.
    fn queued(&self) -> Vec<(i32, ReadFlags, Option<Vec<u8>>)> {
        let mut buffer = [MaybeUninit::uninit(); READ_BYTES];
        let mut reader = Reader::new(&self.notifier, &mut buffer);
        let mut queued = Vec::new();
        // The queue is not waited for: without events, reading fails.
        while let Ok(event) = reader.next() {
            queued.push((event.wd(), event.events(), event.file_name().map(|name| name.to_bytes().to_vec())));
            if reader.is_buffer_empty() {
                break;
            }
        }
        queued
    }

    fn take(&mut self, batch: &mut Batch, watch: i32, flags: ReadFlags, name: Option<&[u8]>) {
        if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.look_again(batch);
        }
        let Some(directory) = self.paths.get(&watch).cloned() else { return };
        if flags.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::IGNORED | ReadFlags::UNMOUNT) {
            return self.lost(batch, watch, &directory, flags);
        }
        let (Some(name), Some(change)) = (name, change(flags)) else { return };
        let Some(path) = self.shown(&directory, name) else { return };
        let is_directory = flags.contains(ReadFlags::ISDIR);
        batch.add(path.clone(), change, is_directory);
        if is_directory && self.depth == WatchDepth::Tree {
            match change {
                FileChange::Created => self.watch_new(batch, path),
                FileChange::Renamed | FileChange::Removed => self.forget(&path),
                FileChange::Written | FileChange::Attributes => {}
            }
        }
    }

    /// Watches a new directory. Its entries may be older than the watch, so each is told as new.
    fn watch_new(&mut self, batch: &mut Batch, path: VirtualPath) {
        let watched = self.watch(&path).and_then(|()| {
            self.watch_below(path, &mut |path, is_directory| batch.add(path, FileChange::Created, is_directory))
        });
        if let Err(errno @ (Errno::TOOBIG | Errno::NOSPC)) = watched {
            batch.end = Some(self.cannot_watch(errno));
        }
    }

    /// Stops watching a directory with all below it.
    fn forget(&mut self, top: &VirtualPath) {
        // Paths are ordered by component, so those below a directory follow it.
        let below = self.watches.range(top.clone()..).map(|(path, _)| path);
        let gone: Vec<VirtualPath> = below.take_while(|path| path.is_within(top)).cloned().collect();
        for path in gone {
            if let Some(watch) = self.watches.remove(&path) {
                self.paths.remove(&watch);
                let _ = inotify::remove_watch(&self.notifier, watch);
            }
        }
    }

    /// A watched directory is gone; without the top one the watch ends.
    fn lost(&mut self, batch: &mut Batch, watch: i32, directory: &VirtualPath, flags: ReadFlags) {
        if *directory == self.top {
            let what = if flags.contains(ReadFlags::MOVE_SELF) { "moved" } else { "removed" };
            let sentence = format!("the watched directory `{directory}` was {what}");
            batch.end = Some(Error::new(ErrorKind::NotFound, sentence).hint("watch another directory"));
        } else if !flags.contains(ReadFlags::MOVE_SELF) {
            self.paths.remove(&watch);
            self.watches.remove(directory);
        }
    }

    /// Events were lost, and new directories may be among them.
    fn look_again(&mut self, batch: &mut Batch) {
        batch.events.push_back(FileEvent::Missed);
        if self.depth == WatchDepth::Tree {
            self.forget(&self.top.clone());
            let top = self.top.clone();
            let watched = self.watch(&top).and_then(|()| self.watch_below(top, &mut |_, _| {}));
            batch.end = watched.err().map(|errno| self.cannot_watch(errno));
        }
    }
}
