//! What one read of the kernel's queue came to.

use std::collections::VecDeque;

use rustix::fs::inotify::ReadFlags;
use workden_core::{
    Error, VirtualPath,
    sandbox::{FileChange, FileEvent},
};

/// Events, and the error that ends the watch after them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) events: VecDeque<FileEvent>,
    pub(super) end: Option<Error>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.end.is_none()
    }

    /// Adds a change, unless it only repeats the last one.
    pub(super) fn add(&mut self, path: VirtualPath, change: FileChange, is_directory: bool) {
        let event = FileEvent::Changed { path, change, is_directory };
        if self.events.back() != Some(&event) {
            self.events.push_back(event);
        }
    }
}

/// Returns what happened to an entry.
pub(super) fn change(flags: ReadFlags) -> Option<FileChange> {
    const CHANGES: [(ReadFlags, FileChange); 6] = [
        (ReadFlags::CREATE, FileChange::Created),
        (ReadFlags::MOVED_TO, FileChange::Created),
        (ReadFlags::MODIFY, FileChange::Written),
        (ReadFlags::DELETE, FileChange::Removed),
        (ReadFlags::MOVED_FROM, FileChange::Renamed),
        (ReadFlags::ATTRIB, FileChange::Attributes),
    ];
    CHANGES.iter().find(|(flag, _)| flags.contains(*flag)).map(|(_, change)| *change)
}
