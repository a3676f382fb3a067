//! Finding paths: the walk, the pattern, and a stat for each match.

use std::{ffi::CStr, os::fd::AsFd, sync::atomic::AtomicBool};

use rustix::fs::FileType;
use workden_core::{
    Entry, EntryKind, Error, Result, VirtualPath,
    search::{GlobKinds, GlobRequest, Globbed, PathPattern, Skipped},
};

use super::{
    entries::{self, shown_name},
    errors::refused,
    root::Root,
    walk::{Brake, Names, OpenDirectory, Visitor, walk},
};
use crate::search::{Admission, TopEntries, WalkFilter};

pub(super) fn glob(root: &Root, real: &VirtualPath, request: &GlobRequest, abandoned: &AtomicBool) -> Result<Globbed> {
    let screen = WalkFilter::for_glob(request, real)?;
    let pattern = PathPattern::new(&request.pattern, screen.base())?;
    match root.directory(real) {
        Ok(_) => {}
        Err(rustix::io::Errno::NOTDIR) => return Err(Error::not_directory("search", real)),
        Err(errno) => return Err(refused("search", real, errno)),
    }
    let brake = Brake::new(request.deadline, abandoned);
    let Some(start) = screen.start_of(real, pattern.start()) else {
        return Ok(Globbed::default());
    };
    let visitors = walk(root, &screen, &start, &brake, || GlobVisitor {
        root,
        screen: &screen,
        pattern: &pattern,
        kinds: request.kinds,
        found: TopEntries::new(request.keep),
        skipped: Skipped::default(),
    });
    let mut all = TopEntries::new(request.keep);
    let mut skipped = Skipped::default();
    for visitor in visitors {
        all.merge(visitor.found);
        skipped += visitor.skipped;
    }
    Ok(all.finish(skipped, brake.completeness()))
}

struct GlobVisitor<'a> {
    root: &'a Root,
    screen: &'a WalkFilter,
    pattern: &'a PathPattern,
    kinds: GlobKinds,
    found: TopEntries,
    skipped: Skipped,
}

impl GlobVisitor<'_> {
    fn take(&mut self, directory: &OpenDirectory, name: &CStr, kind_given: FileType) {
        let (shown, form) = shown_name(name);
        let context = &directory.context;
        let seen = context.seen.child_unchecked(&shown);
        let is_dir = kind_given == FileType::Directory;
        if !self.pattern.is_match(&seen) || !self.screen.admits(context, &shown, is_dir).counted_in(&mut self.skipped) {
            return;
        }
        // Entries that vanish meanwhile are left out.
        let Ok(stat) = entries::stat_name(directory.fd.as_fd(), name) else { return };
        let local = if context.seen == context.local { seen } else { context.local.child_unchecked(&shown) };
        let entry: Entry = entries::entry(self.root, Some(self.screen), local, form, &stat);
        let wanted = match self.kinds {
            GlobKinds::Files => entry.kind == EntryKind::File,
            GlobKinds::Everything => true,
        };
        if wanted {
            self.found.extend([entry]);
        }
    }
}

impl Visitor for GlobVisitor<'_> {
    fn visit(&mut self, directory: &OpenDirectory, names: &Names) {
        for (name, kind) in names.iter() {
            self.take(directory, name, kind);
        }
    }

    fn enters(&mut self, directory: &OpenDirectory, name: &CStr, seen: &VirtualPath) -> bool {
        if self.kinds == GlobKinds::Everything {
            self.take(directory, name, FileType::Directory);
        }
        self.pattern.may_match_below(seen)
    }

    fn ignored(&mut self, seen: &VirtualPath) {
        let is_shown = self.screen.admits_named(seen) == Admission::Admit;
        self.skipped.ignored_directories += u64::from(is_shown && self.pattern.may_match_below(seen));
    }

    fn unreadable(&mut self) {
        self.skipped.unreadable += 1;
    }
}
