//! A parallel walk of a directory tree by descriptor.
//!
//! Invariant: a directory is opened from the root by its resolved path, meeting no link, and the names in it are opened
//! from that descriptor without following links. So the walk never leaves the root, whatever is swapped meanwhile. Each
//! thread holds one open directory at a time, and few directories have files waiting in the queue, because the newest
//! work is done first.

use std::{
    ffi::CStr,
    ops::ControlFlow,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{self, AtFlags, FileType},
    io::Errno,
};
use workden_core::{Completeness, VirtualPath, limits};

use super::{
    entries::{self, shown_name},
    read::open_for_reading,
    root::{Root, kind},
};
use crate::search::{DirectoryContext, WalkFilter};

/// Files of one directory that are handed over at a time.
const BATCH: usize = 256;
/// More threads than this would only wait for each other.
pub(super) const MOST_THREADS: usize = 12;

/// Handles the findings of one thread of a walk.
pub(super) trait Visitor: Send {
    /// Handles some names of a directory that are not directories.
    fn visit(&mut self, directory: &OpenDirectory, names: &Names);

    /// Handles a directory before it is entered; returns whether to enter it.
    fn enters(&mut self, directory: &OpenDirectory, name: &CStr, seen: &VirtualPath) -> bool;

    /// Records a directory that the walk does not enter because `.gitignore` ignores it.
    fn ignored(&mut self, _: &VirtualPath) {}

    /// Records a directory that cannot be read.
    fn unreadable(&mut self);

    /// Finishes the work of this thread, while other threads may still be running.
    fn done(&mut self) {}
}

/// An open directory during the walk.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    pub(super) fd: OwnedFd,
    pub(super) context: DirectoryContext,
}

/// Names from a directory in one buffer, each with its terminating NUL.
#[derive(Debug, Default)]
pub(super) struct Names {
    bytes: Vec<u8>,
    ends: Vec<(usize, FileType)>,
}

impl Names {
    fn push(&mut self, name: &CStr, kind: FileType) {
        self.bytes.extend_from_slice(name.to_bytes_with_nul());
        self.ends.push((self.bytes.len(), kind));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        let mut start = 0;
        self.ends.iter().filter_map(move |(end, kind)| {
            let name = CStr::from_bytes_with_nul(&self.bytes[start..*end]).ok();
            start = *end;
            name.map(|name| (name, *kind))
        })
    }
}

/// When and why a walk stops early.
#[derive(Debug)]
pub(super) struct Brake<'a> {
    deadline: Option<Instant>,
    abandoned: &'a AtomicBool,
    late: AtomicBool,
    full: AtomicBool,
}

impl<'a> Brake<'a> {
    pub(super) fn new(allowed: Duration, abandoned: &'a AtomicBool) -> Self {
        let deadline = Instant::now().checked_add(allowed);
        Self { deadline, abandoned, late: AtomicBool::new(false), full: AtomicBool::new(false) }
    }

    /// Stops the walk because enough was found.
    pub(super) fn is_full(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Whether the walk must stop now.
    pub(super) fn stops(&self) -> bool {
        if self.full.load(Ordering::Relaxed)
            || self.late.load(Ordering::Relaxed)
            || self.abandoned.load(Ordering::Relaxed)
        {
            return true;
        }
        let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if late {
            self.late.store(true, Ordering::Relaxed);
        }
        late
    }

    pub(super) fn completeness(&self) -> Completeness {
        if self.late.load(Ordering::Relaxed) {
            Completeness::StoppedAtDeadline
        } else if self.full.load(Ordering::Relaxed) {
            Completeness::StoppedAtCeiling
        } else {
            Completeness::Complete
        }
    }
}

/// Walks the tree below `start`, with one visitor per thread; returns the visitors.
pub(super) fn walk<V: Visitor>(
    root: &Root,
    screen: &WalkFilter,
    start: &VirtualPath,
    brake: &Brake<'_>,
    make_visitor: impl Fn() -> V,
) -> Vec<V> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let above = context_above(root, screen, start);
    let queue = Queue::new(Job::Directory { path: start.clone(), above: above.map(Arc::new) });
    let walk = Walk { root, screen, brake, queue };
    let mut visitors: Vec<V> = (0..threads).map(|_| make_visitor()).collect();
    thread::scope(|scope| {
        let (own, others) = visitors.split_at_mut(1);
        for visitor in others {
            // If there is no other thread, this one does all the work.
            let _ = thread::Builder::new().name("walk".to_owned()).spawn_scoped(scope, || walk.work(visitor));
        }
        own.iter_mut().for_each(|visitor| walk.work(visitor));
    });
    visitors
}

/// Returns the context of the directories above the start, because their ignore rules apply below it, too.
pub(super) fn context_above(root: &Root, screen: &WalkFilter, start: &VirtualPath) -> Option<DirectoryContext> {
    if !screen.reads_ignore_files() {
        return None;
    }
    let mut above: Vec<VirtualPath> = std::iter::successors(start.parent(), VirtualPath::parent).collect();
    above.reverse();
    above.into_iter().fold(None, |context, path| match root.directory(&path) {
        Ok(fd) => Some(enter(root, screen, context.as_ref(), path, fd.as_fd())),
        Err(_) => context,
    })
}

fn enter(
    root: &Root,
    screen: &WalkFilter,
    above: Option<&DirectoryContext>,
    path: VirtualPath,
    fd: BorrowedFd<'_>,
) -> DirectoryContext {
    if !screen.reads_ignore_files() {
        return screen.enter(above, path, None, false);
    }
    let is_there = |name| !root.lacks(&path.child_unchecked(name));
    let has_git = is_there(".git") && fs::statat(fd, c".git", AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let rules = if is_there(".gitignore") { read_ignore_file(fd) } else { None };
    screen.enter(above, path, rules.as_deref(), has_git)
}

fn read_ignore_file(directory: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let is_regular = |stat: &fs::Stat| kind(stat) == FileType::RegularFile;
    // The stat comes before the open: opening a FIFO has side effects.
    entries::stat_name(directory, c".gitignore").ok().filter(is_regular)?;
    let fd = open_for_reading(directory, c".gitignore").ok()?;
    let stat = fs::fstat(&fd).ok().filter(is_regular)?;
    let size = usize::try_from(entries::size(&stat)).ok()?.min(limits::IGNORE_FILE_BYTES);
    let mut content = vec![0; size];
    let mut filled = 0;
    while filled < size {
        match rustix::io::read(&fd, &mut content[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    content.truncate(filled);
    Some(content)
}

enum Job {
    Directory { path: VirtualPath, above: Option<Arc<DirectoryContext>> },
    Names { directory: Arc<OpenDirectory>, names: Names },
}

struct Walk<'a> {
    root: &'a Root,
    screen: &'a WalkFilter,
    brake: &'a Brake<'a>,
    queue: Queue,
}

impl Walk<'_> {
    fn work(&self, visitor: &mut dyn Visitor) {
        while let Some(job) = self.queue.next() {
            let mut taken = Taken { queue: &self.queue, led_to: Vec::new() };
            match job {
                _ if self.brake.stops() => {}
                Job::Names { directory, names } => visitor.visit(&directory, &names),
                Job::Directory { path, above } => taken.led_to = self.read(visitor, path, above.as_deref()),
            }
        }
        visitor.done();
    }

    fn read(&self, visitor: &mut dyn Visitor, path: VirtualPath, above: Option<&DirectoryContext>) -> Vec<Job> {
        let fd = match self.root.directory(&path) {
            Ok(fd) => fd,
            // The directory was removed, or swapped for something else, after its name was read.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Vec::new(),
            Err(_) => {
                visitor.unreadable();
                return Vec::new();
            }
        };
        let context = enter(self.root, self.screen, above, path, fd.as_fd());
        let directory = Arc::new(OpenDirectory { fd, context });
        let mut below = Vec::new();
        let mut names = Names::default();
        let mut batches = Vec::new();
        let outcome = self.root.for_each_name_in(&directory.context.local, &directory.fd, |name, kind| {
            let kind = self.kind_of(&directory, name, kind);
            if kind == FileType::Directory {
                below.extend(self.below(visitor, &directory, name));
                return ControlFlow::Continue(());
            }
            names.push(name, kind);
            if names.ends.len() == BATCH {
                batches.push(std::mem::take(&mut names));
            }
            if self.brake.stops() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if outcome.is_err() {
            visitor.unreadable();
        }
        // The last batch is handled here; the others go on top of the queue, for idle workers. Directories are handled
        // in order, so that sorting the answer by path is fast.
        below.sort_unstable_by(|one, other| other.cmp(one));
        let shared = Arc::new(directory.context.clone());
        let enter = |path| Job::Directory { path, above: Some(Arc::clone(&shared)) };
        let mut jobs: Vec<Job> = below.into_iter().map(enter).collect();
        jobs.extend(batches.into_iter().map(|names| Job::Names { directory: Arc::clone(&directory), names }));
        visitor.visit(&directory, &names);
        jobs
    }

    fn kind_of(&self, directory: &OpenDirectory, name: &CStr, kind_given: FileType) -> FileType {
        match kind_given {
            FileType::Unknown => {
                entries::stat_name(directory.fd.as_fd(), name).map_or(FileType::Unknown, |stat| kind(&stat))
            }
            known => known,
        }
    }

    /// Returns the path of a subdirectory, if the walk enters it.
    fn below(&self, visitor: &mut dyn Visitor, directory: &OpenDirectory, name: &CStr) -> Option<VirtualPath> {
        let (context, (shown, form)) = (&directory.context, shown_name(name));
        let seen = context.seen.child_unchecked(&shown);
        if !self.screen.enters(context, &shown) {
            if self.screen.ignores(context, &shown) {
                visitor.ignored(&seen);
            }
            return None;
        }
        // A name that is not UTF-8 is shown, but no path can open it.
        if !visitor.enters(directory, name, &seen) || form != workden_core::NameForm::Exact {
            return None;
        }
        if context.local.depth() >= limits::SEARCH_DEPTH {
            visitor.unreadable();
            return None;
        }
        Some(context.local.child_unchecked(&shown))
    }
}

/// A job that a worker has taken; it counts as done when dropped, even by a panic, so that no worker waits for it.
struct Taken<'a> {
    queue: &'a Queue,
    led_to: Vec<Job>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.queue.done(std::mem::take(&mut self.led_to));
    }
}

/// The pending work, newest first, and the number of threads that may still add to it.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    jobs: Vec<Job>,
    unfinished: usize,
}

impl Queue {
    fn new(first: Job) -> Self {
        Self { state: Mutex::new(QueueState { jobs: vec![first], unfinished: 1 }), changed: Condvar::new() }
    }

    /// Returns the next job; `None` when all work is done.
    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = state.jobs.pop() {
                return Some(job);
            }
            if state.unfinished == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that a job is done, and adds the jobs that it led to.
    fn done(&self, more: Vec<Job>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.unfinished = state.unfinished + more.len() - 1;
        let added = more.len();
        state.jobs.extend(more);
        if state.unfinished == 0 || added > 1 {
            self.changed.notify_all();
        } else if added == 1 {
            self.changed.notify_one();
        }
    }
}
