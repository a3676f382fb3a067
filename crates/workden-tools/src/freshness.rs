//! What this agent has seen of files, so that an edit of a file that somebody else has changed since is
//! refused, and the refusal can say what changed.
//!
//! Invariant: files are known by where they really are, so that another spelling or a link is no way
//! around it. What is kept is bounded; a file that was forgotten is one that was never seen.

use std::{
    collections::HashMap,
    fmt::Write,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use similar::{ChangeTag, TextDiff};
use workden_core::{Version, VirtualPath, text::Change};

/// Files of which the version is kept; the one seen longest ago makes room.
const KEPT_FILES: usize = 10_000;
/// Bytes of one file's text that are kept to say what changed.
const KEPT_TEXT: usize = 512 * 1024;
/// Bytes of all of them.
const KEPT_TEXTS: usize = 8 * 1024 * 1024;
/// Changed lines that a refusal shows.
const SHOWN_LINES: usize = 20;
/// Characters of a line that it shows.
const SHOWN_CHARS: usize = 160;

/// What this agent has seen of files.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    seen: Mutex<Files>,
    locks: Mutex<HashMap<VirtualPath, Weak<tokio::sync::Mutex<()>>>>,
}

#[derive(Debug, Default)]
struct Files {
    by_path: HashMap<VirtualPath, Seen>,
    text_bytes: usize,
    clock: u64,
}

/// A file as it was last seen.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// What it was.
    pub(crate) version: Version,
    /// A part of it, or all.
    pub(crate) text: Option<SeenText>,
    when: u64,
    how: How,
}

/// Text as it was seen.
#[derive(Clone, Debug)]
pub(crate) struct SeenText {
    /// How many lines were before it.
    pub(crate) offset: u64,
    /// How many lines were asked for.
    pub(crate) limit: u64,
    pub(crate) text: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Read,
    Written,
}

/// When a look at a file began. What this agent writes meanwhile is newer than what that look finds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began(u64);

impl Freshness {
    fn files(&self) -> MutexGuard<'_, Files> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A look begins.
    pub(crate) fn begin(&self) -> Began {
        let mut files = self.files();
        files.clock += 1;
        Began(files.clock)
    }

    /// A file was read.
    pub(crate) fn read(&self, began: Began, path: &VirtualPath, version: Version, text: Option<SeenText>) {
        let mut files = self.files();
        let newer = |seen: &Seen| seen.how == How::Written && seen.when > began.0;
        if !files.by_path.get(path).is_some_and(newer) {
            files.keep(path, version, text, How::Read);
        }
    }

    /// This agent wrote a file, with this text if it is known.
    pub(crate) fn wrote(&self, path: &VirtualPath, version: Version, text: Option<&str>) {
        let text = text.filter(|text| text.len() <= KEPT_TEXT);
        let text = text.map(|text| SeenText { offset: 0, limit: u64::MAX, text: text.into() });
        self.files().keep(path, version, text, How::Written);
    }

    /// This agent changed a file; what it was before is known as far as it was seen.
    pub(crate) fn changed(&self, path: &VirtualPath, version: Version, change: &Change) {
        let before = self.seen(path).and_then(|seen| seen.text).filter(|text| text.offset == 0);
        let after = before.and_then(|before| {
            let content = before.text.as_bytes();
            let plan = change.plan(path, content).ok()?;
            workden_core::text::splice::apply_splices(content, &plan.splices).ok()
        });
        // A part of the file, or one in another encoding, does not come out as what is there now.
        let after = after.filter(|after| Version::of(after) == version).and_then(|after| String::from_utf8(after).ok());
        self.wrote(path, version, after.as_deref());
    }

    /// This agent moved a file.
    pub(crate) fn moved(&self, from: &VirtualPath, to: &VirtualPath) {
        let mut files = self.files();
        let Some(seen) = files.remove(from) else {
            files.remove(to);
            return;
        };
        files.keep(to, seen.version, seen.text, How::Written);
    }

    /// A file is no longer there.
    pub(crate) fn forget(&self, path: &VirtualPath) {
        self.files().remove(path);
    }

    /// A file as it was last seen.
    pub(crate) fn seen(&self, path: &VirtualPath) -> Option<Seen> {
        self.files().by_path.get(path).cloned()
    }

    /// The lock of a file: changes by this agent come one after the other, so that the second is not
    /// stale because of the first.
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

impl Files {
    fn remove(&mut self, path: &VirtualPath) -> Option<Seen> {
        let seen = self.by_path.remove(path)?;
        self.text_bytes -= seen.text.as_ref().map_or(0, |text| text.text.len());
        Some(seen)
    }

    fn keep(&mut self, path: &VirtualPath, version: Version, text: Option<SeenText>, how: How) {
        self.remove(path);
        self.clock += 1;
        let text = text.filter(|text| text.text.len() <= KEPT_TEXT);
        self.text_bytes += text.as_ref().map_or(0, |text| text.text.len());
        self.by_path.insert(path.clone(), Seen { version, text, when: self.clock, how });
        while self.by_path.len() > KEPT_FILES {
            let Some(oldest) = self.oldest(|_| true) else { break };
            self.remove(&oldest);
        }
        while self.text_bytes > KEPT_TEXTS {
            let Some(oldest) = self.oldest(|seen| seen.text.is_some()) else { break };
            if let Some(text) = self.by_path.get_mut(&oldest).and_then(|seen| seen.text.take()) {
                self.text_bytes -= text.text.len();
            }
        }
    }

    fn oldest(&self, which: impl Fn(&Seen) -> bool) -> Option<VirtualPath> {
        let of_those = self.by_path.iter().filter(|(_, seen)| which(seen));
        of_those.min_by_key(|(_, seen)| seen.when).map(|(path, _)| path.clone())
    }
}

/// What changed between two texts, in a few lines; nothing when it is not to be seen in them.
pub(crate) fn what_changed(before: &str, after: &str, first_line: u64) -> Option<String> {
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

    fn read(freshness: &Freshness, typed: &str, text: &str) {
        let seen = SeenText { offset: 0, limit: 10, text: text.into() };
        freshness.read(freshness.begin(), &path(typed), Version::of(text.as_bytes()), Some(seen));
    }

    #[test]
    fn a_change_by_this_agent_is_what_it_has_seen_then() {
        let freshness = Freshness::default();
        read(&freshness, "/a", "one\ntwo\n");
        let change = Change::Replace(vec![Replacement::once("two", "three")]);
        freshness.changed(&path("/a"), Version::of(b"one\nthree\n"), &change);
        assert_eq!(&*freshness.seen(&path("/a")).unwrap().text.unwrap().text, "one\nthree\n");
        // Of a part it is not known what the whole is.
        freshness.changed(&path("/a"), Version::of(b"zero\none\nthree\n"), &change);
        let seen = freshness.seen(&path("/a")).unwrap();
        assert_eq!((seen.version, seen.text.is_none()), (Version::of(b"zero\none\nthree\n"), true));
    }

    #[test]
    fn a_read_that_began_before_a_write_does_not_undo_it() {
        let freshness = Freshness::default();
        let began = freshness.begin();
        freshness.wrote(&path("/a"), Version::of(b"new"), Some("new"));
        freshness.read(began, &path("/a"), Version::of(b"old"), None);
        assert_eq!(freshness.seen(&path("/a")).unwrap().version, Version::of(b"new"));
        read(&freshness, "/a", "newer");
        assert_eq!(freshness.seen(&path("/a")).unwrap().version, Version::of(b"newer"));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let freshness = Freshness::default();
        let text = "x".repeat(KEPT_TEXT);
        for number in 0..100 {
            read(&freshness, &format!("/{number}"), &text);
        }
        let held = |freshness: &Freshness| {
            let files = freshness.files();
            let sum: usize =
                files.by_path.values().filter_map(|seen| seen.text.as_ref()).map(|text| text.text.len()).sum();
            assert_eq!(sum, files.text_bytes);
            (files.by_path.len(), sum)
        };
        assert_eq!(held(&freshness), (100, KEPT_TEXTS));
        assert!(freshness.seen(&path("/0")).unwrap().text.is_none());
        assert!(freshness.seen(&path("/99")).unwrap().text.is_some());
        for number in 0..KEPT_FILES {
            freshness.wrote(&path(&format!("/w{number}")), Version::of(b""), None);
        }
        assert_eq!(held(&freshness), (KEPT_FILES, 0));
        read(&freshness, "/huge", &"x".repeat(KEPT_TEXT + 1));
        assert!(freshness.seen(&path("/huge")).unwrap().text.is_none());
    }

    #[test]
    fn what_changed_is_told_in_a_few_lines() {
        let told = what_changed("a\nb\nc\n", "a\nB\nc\nd\n", 10).unwrap();
        assert_eq!(told, "\n-   12\tb\n+   12\tB\n+   14\td");
        assert_eq!(what_changed("a\n", "a\n", 0), None);
        let many: String = (0..1_000).map(|number| format!("{number}\n")).collect();
        let told = what_changed("", &many, 0).unwrap();
        assert!(told.ends_with("+   20\t19\n... and 980 more changed lines"), "{told}");
        assert!(what_changed("", &"é".repeat(1_000), 0).unwrap().len() < 400);
    }
}
