//! A parallel walk of a directory tree by descriptor.
//!
//! Invariant: a directory is opened from the root by its resolved path, meeting no link, and the
//! names in it are opened from that descriptor without following one. So whatever is swapped while
//! the walk goes on, it never leaves the root. Each thread holds one open directory at a time, and
//! those whose files wait in the queue are few: the newest work is done first.

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
/// More threads than this only wait for each other.
pub(super) const MOST_THREADS: usize = 12;

/// What one thread of a walk does with what it finds.
pub(super) trait Visitor: Send {
    /// Takes some names of a directory that are not directories.
    fn visit(&mut self, directory: &OpenDirectory, names: &Names);

    /// Takes a directory that is about to be entered; says whether to.
    fn enters(&mut self, directory: &OpenDirectory, name: &CStr, seen: &VirtualPath) -> bool;

    /// Takes note of a directory that cannot be read.
    fn unreadable(&mut self);

    /// Does what is left to do when nothing more comes, while other threads may still be at work.
    fn done(&mut self) {}
}

/// A directory while its names are looked at.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    pub(super) fd: OwnedFd,
    pub(super) context: DirectoryContext,
}

/// Names from a directory in one piece of memory, each with its terminating NUL.
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

/// When and why a walk stops before its end.
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

    /// Stops the walk: enough was found.
    pub(super) fn is_full(&self) {
        self.full.store(true, Ordering::Relaxed);
    }

    /// Whether to stop now.
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

/// Walks the tree below `start`, with one visitor a thread; gives the visitors back.
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
            // Without another thread this one does it all.
            let _ = thread::Builder::new().name("walk".to_owned()).spawn_scoped(scope, || walk.work(visitor));
        }
        own.iter_mut().for_each(|visitor| walk.work(visitor));
    });
    visitors
}

/// The ignore rules of the directories above the start hold below it, too.
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
    // Looking before opening: to open a FIFO is to do something to it.
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
            // Gone, or swapped for something else, since its name was read.
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
        // The last batch is done here; the others on top of the queue, for idle workers. Directories are taken in
        // their order, so that sorting the answer by path has little to do.
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

    /// The path of a directory in this one, if it is to be entered.
    fn below(&self, visitor: &mut dyn Visitor, directory: &OpenDirectory, name: &CStr) -> Option<VirtualPath> {
        let (context, (shown, form)) = (&directory.context, shown_name(name));
        if !self.screen.enters(context, &shown) {
            return None;
        }
        let seen = context.seen.child_unchecked(&shown);
        // A name that is not UTF-8 is shown, but has no path to open it by.
        if !visitor.enters(directory, name, &seen) || form != workden_core::NameForm::Exact {
            return None;
        }
        Some(context.local.child_unchecked(&shown))
    }
}

/// A job that a worker has taken; done when dropped, also by a panic, so that no worker waits for it.
struct Taken<'a> {
    queue: &'a Queue,
    led_to: Vec<Job>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.queue.done(std::mem::take(&mut self.led_to));
    }
}

/// Work to be done, newest first, and how many threads may still add to it.
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

    /// The next job; `None` when all is done.
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

    /// Takes note that a job is done, and of what it led to.
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
