//! Finding lines: the walk, and ripgrep's searcher on the opened files.

use std::{
    ffi::CStr,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use rustix::{
    buffer::spare_capacity,
    fs::{self, FileType, Stat},
    io::Errno,
};
use workden_core::{
    Result, VirtualPath,
    search::{FileMatches, GlobRequest, GrepRequest, Grepped, Skipped},
    text::encoding::BINARY_SNIFF_BYTES,
};

use super::{
    entries::{self, shown_name},
    linked::{LinkedFiles, OtherNames},
    read::{FileReader, OpenFile, open_for_reading},
    root::{Root, kind},
    walk::{Brake, MOST_THREADS, Names, OpenDirectory, Visitor, walk},
};
use crate::search::{DirectoryContext, FileSearch, LineSearch, LineWorker, TopMatches, WalkFilter};

/// Files up to this size are read at once; larger files are read during the search.
const AT_ONCE_BYTES: usize = 1024 * 1024;
/// Lines (and files without lines) that a thread collects at least before it hands them over.
const HELD_LINES: usize = 4_096;

pub(super) fn grep(root: &Root, real: &VirtualPath, request: &GrepRequest, abandoned: &AtomicBool) -> Result<Grepped> {
    let screen = WalkFilter::for_grep(request, real)?;
    let search = LineSearch::new(request)?;
    let brake = Brake::new(request.deadline, abandoned);
    let shared = Shared {
        kept: Mutex::new(TopMatches::new(request.keep)),
        matches: AtomicU64::new(0),
        ceiling: request.ceiling,
        // If more lines are kept, all threads together hold no more than the kept number.
        most_held: HELD_LINES.max(request.keep / MOST_THREADS),
        brake: &brake,
        screen: &screen,
        linked: LinkedFiles::new(root, &screen, &brake, GlobRequest::new("**").view(request.view.clone())),
    };
    let visitor = || GrepVisitor {
        shared: &shared,
        worker: search.worker(),
        buffer: Vec::new(),
        held: Vec::new(),
        held_lines: 0,
        searched: 0,
        skipped: Skipped::default(),
        doubtful: Vec::new(),
    };
    let mut visitors = match root.directory(real) {
        Ok(_) => walk(root, &screen, real, &brake, visitor),
        Err(Errno::NOTDIR) => {
            let mut visitor = visitor();
            visitor.search_named(root, real)?;
            visitor.done();
            vec![visitor]
        }
        Err(errno) => return Err(super::errors::refused("search", real, errno)),
    };
    let doubtful = visitors.iter_mut().flat_map(|visitor| std::mem::take(&mut visitor.doubtful)).collect();
    let counts: Vec<_> = visitors.into_iter().map(|visitor| (visitor.searched, visitor.skipped)).collect();
    let mut kept = shared.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (searched, skipped) in counts {
        kept.count_searched(searched, skipped, brake.completeness());
    }
    let mut found = kept.finish();
    found.doubtful = doubtful;
    Ok(found)
}

struct Shared<'a> {
    kept: Mutex<TopMatches>,
    matches: AtomicU64,
    ceiling: u64,
    most_held: usize,
    brake: &'a Brake<'a>,
    screen: &'a WalkFilter,
    linked: LinkedFiles<'a>,
}

struct GrepVisitor<'a> {
    shared: &'a Shared<'a>,
    worker: LineWorker,
    buffer: Vec<u8>,
    held: Vec<FileMatches>,
    held_lines: usize,
    searched: u64,
    skipped: Skipped,
    doubtful: Vec<VirtualPath>,
}

impl GrepVisitor<'_> {
    /// Searches a file that the request names.
    fn search_named(&mut self, root: &Root, real: &VirtualPath) -> Result<()> {
        let file = OpenFile::open(root, "search", real)?;
        let screen = self.shared.screen;
        let parent = real.parent().unwrap_or_else(VirtualPath::root);
        let context = screen.enter(None, parent, None, false);
        let name = real.name().unwrap_or_default();
        let seen = context.seen.child_unchecked(name);
        if !screen.admits_named(&seen).counted_in(&mut self.skipped) {
            return Ok(());
        }
        let size = file.size();
        if screen.admits_size(&context, name, size).counted_in(&mut self.skipped)
            && self.may_open(&context, name, &file.stat)
        {
            let outcome = self.search(&file.fd, size);
            self.take(&context, name, workden_core::NameForm::Exact, outcome);
        }
        Ok(())
    }

    fn search_in(&mut self, directory: &OpenDirectory, name: &CStr) {
        let (shown, form) = shown_name(name);
        let screen = self.shared.screen;
        if !screen.admits(&directory.context, &shown, false).counted_in(&mut self.skipped) {
            return;
        }
        let opened = open_for_reading(directory.fd.as_fd(), name).and_then(|fd| fs::fstat(&fd).map(|stat| (fd, stat)));
        let (fd, stat) = match opened {
            Ok(opened) => opened,
            // The file was removed, or swapped for a link, after its name was read.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return,
            Err(_) => {
                self.skipped.unreadable += 1;
                return;
            }
        };
        let size = entries::size(&stat);
        if kind(&stat) != FileType::RegularFile
            || !screen.admits_size(&directory.context, &shown, size).counted_in(&mut self.skipped)
            || !self.may_open(&directory.context, &shown, &stat)
        {
            return;
        }
        let outcome = self.search(&fd, size);
        self.take(&directory.context, &shown, form, outcome);
    }

    /// Whether no other name of a file forbids searching it.
    fn may_open(&mut self, context: &DirectoryContext, name: &str, stat: &Stat) -> bool {
        match self.shared.linked.ask(stat) {
            OtherNames::Fine => true,
            OtherNames::Objects(admission) => admission.counted_in(&mut self.skipped),
            OtherNames::Deferred => {
                self.doubtful.push(context.local.child_unchecked(name));
                false
            }
        }
    }

    fn search(&mut self, fd: &OwnedFd, size: u64) -> FileSearch {
        let first = usize::try_from(size).unwrap_or(usize::MAX).min(AT_ONCE_BYTES);
        self.buffer.clear();
        if size > AT_ONCE_BYTES as u64 {
            if self.fill(fd, BINARY_SNIFF_BYTES).is_err() {
                return FileSearch::Unreadable;
            }
            let rest = FileReader::new(fd.as_fd(), self.buffer.len() as u64, size);
            return self.worker.search_reader(&self.buffer, Braked { reader: rest, brake: self.shared.brake });
        }
        match self.fill(fd, first) {
            Ok(()) => self.worker.search_bytes(&self.buffer),
            Err(_) => FileSearch::Unreadable,
        }
    }

    /// Reads up to `length` bytes from the start of the file into the buffer.
    fn fill(&mut self, fd: &OwnedFd, length: usize) -> Result<(), Errno> {
        self.buffer.reserve(length);
        while self.buffer.len() < length {
            match rustix::io::read(fd, spare_capacity(&mut self.buffer)) {
                Ok(0) => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        self.buffer.truncate(length);
        Ok(())
    }

    fn take(&mut self, context: &DirectoryContext, name: &str, form: workden_core::NameForm, outcome: FileSearch) {
        match outcome {
            FileSearch::Matched { count, lines } => {
                self.searched += 1;
                self.held_lines += lines.len().max(1);
                let path = context.local.child_unchecked(name);
                self.held.push(FileMatches::new(path, count).name(form).lines(lines));
                let matches = self.shared.matches.fetch_add(count, Ordering::Relaxed) + count;
                if matches >= self.shared.ceiling {
                    self.shared.brake.is_full();
                }
                if self.held_lines >= self.shared.most_held {
                    self.hand_over();
                }
            }
            FileSearch::Unmatched => self.searched += 1,
            passed_over => passed_over.count_in(&mut self.skipped),
        }
    }

    fn hand_over(&mut self) {
        // Sorting here runs in parallel with other threads, and makes the final sort fast.
        self.held.sort_by(|a, b| a.path.cmp(&b.path));
        let mut kept = self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.held.drain(..).for_each(|file| kept.push(file));
        self.held_lines = 0;
    }
}

impl Visitor for GrepVisitor<'_> {
    fn visit(&mut self, directory: &OpenDirectory, names: &Names) {
        let first = self.held.len();
        for (name, kind) in names.iter() {
            // Links, FIFOs, sockets and devices are not opened at all.
            if kind != FileType::RegularFile {
                continue;
            }
            if self.shared.brake.stops() {
                return;
            }
            self.search_in(directory, name);
        }
        // Sorted while they are in the cache: sorting all of them later takes several times as long.
        if let Some(new) = self.held.get_mut(first..) {
            new.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        }
    }

    fn enters(&mut self, _: &OpenDirectory, _: &CStr, _: &VirtualPath) -> bool {
        true
    }

    fn unreadable(&mut self) {
        self.skipped.unreadable += 1;
    }

    fn done(&mut self) {
        self.hand_over();
    }
}

/// A reader that ends early when the search must stop.
struct Braked<'a> {
    reader: FileReader<'a>,
    brake: &'a Brake<'a>,
}

impl Read for Braked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.brake.stops() { Ok(0) } else { self.reader.read(buffer) }
    }
}
