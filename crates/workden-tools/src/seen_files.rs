//! The files that an agent has seen: an edit of a file that another program has changed since is refused, and the
//! refusal shows the difference.
//!
//! Invariant: files are recorded by their real paths, so that another spelling or a link does not bypass the check. The
//! record is bounded; a forgotten file counts as never seen.

use std::{
    collections::HashMap,
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use similar::{ChangeTag, TextDiff};
use workden_core::{Version, VirtualPath, text::Change};

/// Files whose version is recorded; one more replaces the file seen longest ago.
const MAX_FILES: usize = 10_000;
/// Bytes of the text of one file that is recorded for the difference.
const MAX_TEXT_BYTES: usize = 512 * 1024;
/// Bytes of the texts of all files.
const MAX_TOTAL_BYTES: usize = 8 * 1024 * 1024;
/// Changed lines that a refusal shows.
const SHOWN_LINES: usize = 20;
/// Characters of a line that a refusal shows.
const SHOWN_CHARS: usize = 160;

/// The files that an agent has seen.
#[derive(Debug, Default)]
pub(crate) struct SeenFiles {
    seen: Mutex<Records>,
    locks: Mutex<HashMap<VirtualPath, Weak<tokio::sync::Mutex<()>>>>,
}

#[derive(Debug, Default)]
struct Records {
    by_path: HashMap<VirtualPath, SeenFile>,
    text_bytes: usize,
    clock: u64,
}

/// A file as the agent saw it last.
#[derive(Clone, Debug)]
pub(crate) struct SeenFile {
    pub(crate) version: Version,
    /// The text, or a part of it.
    pub(crate) text: Option<SeenText>,
    when: u64,
    seen_by: SeenBy,
}

/// The text that the agent saw.
#[derive(Clone, Debug)]
pub(crate) struct SeenText {
    /// The number of lines before it.
    pub(crate) offset: u64,
    /// The number of lines that the call asked for.
    pub(crate) limit: u64,
    pub(crate) text: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeenBy {
    Reading,
    Writing,
}

/// The time at which a read started. A write of this agent after it is newer than the content that the read finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadStart(u64);

impl SeenFiles {
    fn files(&self) -> MutexGuard<'_, Records> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a read.
    pub(crate) fn start_read(&self) -> ReadStart {
        let mut files = self.files();
        files.clock += 1;
        ReadStart(files.clock)
    }

    /// Records that the agent read a file.
    pub(crate) fn record_read(&self, start: ReadStart, path: &VirtualPath, version: Version, text: Option<SeenText>) {
        let mut files = self.files();
        let newer = |seen: &SeenFile| seen.seen_by == SeenBy::Writing && seen.when > start.0;
        if !files.by_path.get(path).is_some_and(newer) {
            files.insert(path, version, text, SeenBy::Reading);
        }
    }

    /// Records that the agent wrote a file, with its text if it is known.
    pub(crate) fn record_write(&self, path: &VirtualPath, version: Version, text: Option<&str>) {
        let text = text.filter(|text| text.len() <= MAX_TEXT_BYTES);
        let text = text.map(|text| SeenText { offset: 0, limit: u64::MAX, text: text.into() });
        self.files().insert(path, version, text, SeenBy::Writing);
    }

    /// Records that the agent changed a file. The new text is known if all of the old one was seen.
    pub(crate) fn record_change(&self, path: &VirtualPath, version: Version, change: &Change) {
        let before = self.get(path).and_then(|seen| seen.text).filter(|text| text.offset == 0);
        let after = before.and_then(|before| {
            let content = before.text.as_bytes();
            let plan = change.plan(path, content).ok()?;
            workden_core::text::splice::apply_splices(content, &plan.splices).ok()
        });
        // Applied to a part of the file, or to one in another encoding, the change gives another version.
        let after = after.filter(|after| Version::of(after) == version).and_then(|after| String::from_utf8(after).ok());
        self.record_write(path, version, after.as_deref());
    }

    /// Records that the agent moved a file.
    pub(crate) fn record_move(&self, from: &VirtualPath, to: &VirtualPath) {
        let mut files = self.files();
        let Some(seen) = files.remove(from) else {
            files.remove(to);
            return;
        };
        files.insert(to, seen.version, seen.text, SeenBy::Writing);
    }

    /// Forgets a file that the agent deleted.
    pub(crate) fn forget(&self, path: &VirtualPath) {
        self.files().remove(path);
    }

    /// Returns a file as the agent saw it last.
    pub(crate) fn get(&self, path: &VirtualPath) -> Option<SeenFile> {
        self.files().by_path.get(path).cloned()
    }

    /// Returns the lock of a file. The changes of an agent come one after the other, so that the first does not make
    /// the second stale.
    pub(crate) fn lock_of(&self, path: &VirtualPath) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(path).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        locks.insert(path.clone(), Arc::downgrade(&lock));
        lock
    }
}

impl Records {
    fn remove(&mut self, path: &VirtualPath) -> Option<SeenFile> {
        let seen = self.by_path.remove(path)?;
        self.text_bytes -= seen.text.as_ref().map_or(0, |text| text.text.len());
        Some(seen)
    }

    fn insert(&mut self, path: &VirtualPath, version: Version, text: Option<SeenText>, seen_by: SeenBy) {
        self.remove(path);
        self.clock += 1;
        let text = text.filter(|text| text.text.len() <= MAX_TEXT_BYTES);
        self.text_bytes += text.as_ref().map_or(0, |text| text.text.len());
        self.by_path.insert(path.clone(), SeenFile { version, text, when: self.clock, seen_by });
        while self.by_path.len() > MAX_FILES {
            let Some(oldest) = self.oldest(|_| true) else { break };
            self.remove(&oldest);
        }
        while self.text_bytes > MAX_TOTAL_BYTES {
            let Some(oldest) = self.oldest(|seen| seen.text.is_some()) else { break };
            if let Some(text) = self.by_path.get_mut(&oldest).and_then(|seen| seen.text.take()) {
                self.text_bytes -= text.text.len();
            }
        }
    }

    fn oldest(&self, which: impl Fn(&SeenFile) -> bool) -> Option<VirtualPath> {
        let candidates = self.by_path.iter().filter(|(_, seen)| which(seen));
        candidates.min_by_key(|(_, seen)| seen.when).map(|(path, _)| path.clone())
    }
}

/// Returns the difference between two texts in a few lines; `None` when they are the same.
pub(crate) fn difference(before: &str, after: &str, first_line: u64) -> Option<String> {
    let diff = TextDiff::configure().timeout(std::time::Duration::from_millis(500)).diff_lines(before, after);
    let changed = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let mut text = String::new();
    let mut left_out = 0_u64;
    for (count, change) in changed.enumerate() {
        if count >= SHOWN_LINES {
            left_out += 1;
            continue;
        }
        let (sign, index) = match change.tag() {
            ChangeTag::Delete => ('-', change.old_index()),
            _ => ('+', change.new_index()),
        };
        let number = first_line + index.unwrap_or(0) as u64 + 1;
        let line = change.value().trim_end_matches(['\n', '\r']);
        let shown = line.char_indices().nth(SHOWN_CHARS).map_or(line, |(end, _)| &line[..end]);
        let _ = write!(text, "\n{sign}{number:>5}\t{shown}");
    }
    if left_out > 0 {
        let _ = write!(text, "\n... and {left_out} more changed lines");
    }
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use workden_core::text::Replacement;

    use super::*;

    fn path(typed: &str) -> VirtualPath {
        VirtualPath::parse(typed).unwrap()
    }

    fn read(seen_files: &SeenFiles, typed: &str, text: &str) {
        let seen = SeenText { offset: 0, limit: 10, text: text.into() };
        seen_files.record_read(seen_files.start_read(), &path(typed), Version::of(text.as_bytes()), Some(seen));
    }

    #[test]
    fn the_text_after_a_change_counts_as_seen() {
        let seen_files = SeenFiles::default();
        read(&seen_files, "/a", "one\ntwo\n");
        let change = Change::Replace(vec![Replacement::once("two", "three")]);
        seen_files.record_change(&path("/a"), Version::of(b"one\nthree\n"), &change);
        assert_eq!(&*seen_files.get(&path("/a")).unwrap().text.unwrap().text, "one\nthree\n");
        // The whole is not known from a part.
        seen_files.record_change(&path("/a"), Version::of(b"zero\none\nthree\n"), &change);
        let seen = seen_files.get(&path("/a")).unwrap();
        assert_eq!((seen.version, seen.text.is_none()), (Version::of(b"zero\none\nthree\n"), true));
    }

    #[test]
    fn a_read_that_started_before_a_write_does_not_replace_it() {
        let seen_files = SeenFiles::default();
        let start = seen_files.start_read();
        seen_files.record_write(&path("/a"), Version::of(b"new"), Some("new"));
        seen_files.record_read(start, &path("/a"), Version::of(b"old"), None);
        assert_eq!(seen_files.get(&path("/a")).unwrap().version, Version::of(b"new"));
        read(&seen_files, "/a", "newer");
        assert_eq!(seen_files.get(&path("/a")).unwrap().version, Version::of(b"newer"));
    }

    #[test]
    fn the_record_is_bounded() {
        let seen_files = SeenFiles::default();
        let text = "x".repeat(MAX_TEXT_BYTES);
        for number in 0..100 {
            read(&seen_files, &format!("/{number}"), &text);
        }
        let held = |seen_files: &SeenFiles| {
            let files = seen_files.files();
            let sum: usize =
                files.by_path.values().filter_map(|seen| seen.text.as_ref()).map(|text| text.text.len()).sum();
            assert_eq!(sum, files.text_bytes);
            (files.by_path.len(), sum)
        };
        assert_eq!(held(&seen_files), (100, MAX_TOTAL_BYTES));
        assert!(seen_files.get(&path("/0")).unwrap().text.is_none());
        assert!(seen_files.get(&path("/99")).unwrap().text.is_some());
        for number in 0..MAX_FILES {
            seen_files.record_write(&path(&format!("/w{number}")), Version::of(b""), None);
        }
        assert_eq!(held(&seen_files), (MAX_FILES, 0));
        read(&seen_files, "/huge", &"x".repeat(MAX_TEXT_BYTES + 1));
        assert!(seen_files.get(&path("/huge")).unwrap().text.is_none());
    }

    #[test]
    fn the_difference_is_shown_in_a_few_lines() {
        let told = difference("a\nb\nc\n", "a\nB\nc\nd\n", 10).unwrap();
        assert_eq!(told, "\n-   12\tb\n+   12\tB\n+   14\td");
        assert_eq!(difference("a\n", "a\n", 0), None);
        let many: String = (0..1_000).map(|number| format!("{number}\n")).collect();
        let told = difference("", &many, 0).unwrap();
        assert!(told.ends_with("+   20\t19\n... and 980 more changed lines"), "{told}");
        assert!(difference("", &"é".repeat(1_000), 0).unwrap().len() < 400);
    }
}
