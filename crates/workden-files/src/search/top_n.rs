//! The first N results of an answer in order, for any number of results and threads.
//!
//! Invariant: memory stays within about twice the kept results, and the kept results do not depend on the order in
//! which they arrived.

use workden_core::{
    Completeness, Entry,
    search::{FileMatches, Globbed, Grepped, Skipped},
};

/// Collects entries, newest first.
#[derive(Debug)]
pub struct TopEntries {
    entries: Vec<Entry>,
    total: u64,
    keep: usize,
}

impl TopEntries {
    /// Creates a collector that keeps the newest `keep` entries.
    #[must_use]
    pub fn new(keep: usize) -> Self {
        Self { entries: Vec::new(), total: 0, keep }
    }

    /// Adds entries.
    pub fn extend(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let before = self.entries.len();
        self.entries.extend(entries);
        self.total += (self.entries.len() - before) as u64;
        if self.entries.len() > self.keep.saturating_mul(2) {
            self.trim();
        }
    }

    fn trim(&mut self) {
        self.entries.sort_unstable_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
        self.entries.truncate(self.keep);
    }

    /// Adds the entries of another collector.
    pub fn merge(&mut self, other: Self) {
        let left_out = other.total - other.entries.len() as u64;
        self.extend(other.entries);
        self.count_left_out(left_out);
    }

    /// Counts entries that another search found and left out.
    pub fn count_left_out(&mut self, left_out: u64) {
        self.total += left_out;
    }

    /// Returns the answer.
    #[must_use]
    pub fn finish(mut self, skipped: Skipped, completeness: Completeness) -> Globbed {
        self.trim();
        let left_out = self.total - self.entries.len() as u64;
        Globbed::new(self.entries).left_out(left_out).skipped(skipped).completeness(completeness)
    }
}

/// Collects matches, ordered by path.
#[derive(Debug)]
pub struct TopMatches {
    found: Grepped,
    kept_lines: usize,
    keep: usize,
}

impl TopMatches {
    /// Creates a collector that keeps the first `keep` lines (or files, if only files are requested).
    #[must_use]
    pub fn new(keep: usize) -> Self {
        Self { found: Grepped::default(), kept_lines: 0, keep }
    }

    /// Adds the matches of one file.
    pub fn push(&mut self, file: FileMatches) {
        self.found.matches += file.count;
        self.found.files_matched += 1;
        self.keep_file(file);
    }

    fn keep_file(&mut self, file: FileMatches) {
        self.kept_lines += weight(&file);
        self.found.files.push(file);
        if self.kept_lines > self.keep.saturating_mul(2) {
            self.trim();
        }
    }

    /// Adds the answer of another search.
    pub fn merge(&mut self, other: Grepped) {
        self.found.matches += other.matches;
        self.found.files_matched += other.files_matched;
        self.count_searched(other.files_searched, other.skipped, other.completeness);
        if self.found.files.is_empty() {
            // The first answer, which is usually the only one, is moved without copying.
            self.kept_lines = other.files.iter().map(weight).sum();
            self.found.files = other.files;
        } else {
            other.files.into_iter().for_each(|file| self.keep_file(file));
        }
    }

    /// Adds the number of searched and skipped files, and the completeness.
    pub fn count_searched(&mut self, searched: u64, skipped: Skipped, completeness: Completeness) {
        self.found.files_searched += searched;
        self.found.skipped += skipped;
        self.found.completeness = self.found.completeness.max(completeness);
    }

    fn trim(&mut self) {
        // The results of several threads arrive in sorted runs, which this sort exploits.
        self.found.files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut room = self.keep;
        let mut whole = 0;
        for file in &mut self.found.files {
            if room == 0 {
                break;
            }
            file.lines.truncate(room);
            room -= weight(file).min(room);
            whole += 1;
        }
        self.found.files.truncate(whole);
        self.kept_lines = self.keep - room;
    }

    /// Returns the number of matches so far.
    #[must_use]
    pub fn matches(&self) -> u64 {
        self.found.matches
    }

    /// Returns the answer.
    #[must_use]
    pub fn finish(mut self) -> Grepped {
        self.trim();
        self.found
    }
}

/// Returns the weight of a file: its number of lines, or one if it has none.
fn weight(file: &FileMatches) -> usize {
    file.lines.len().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workden_core::{
        EntryKind, Timestamp, VirtualPath,
        search::{LineMatch, LineRole},
    };

    fn file(name: u64, lines: u64) -> FileMatches {
        let line = |number| LineMatch::new(number, "", LineRole::Match);
        FileMatches::new(VirtualPath::parse(&format!("/{name:04}")).unwrap(), lines)
            .lines((1..=lines).map(line).collect())
    }

    #[test]
    fn the_first_lines_by_path_are_kept_whatever_the_order_of_arrival() {
        let collect = |order: &mut dyn Iterator<Item = u64>| {
            let mut kept = TopMatches::new(10);
            order.for_each(|name| kept.push(file(name, 3)));
            kept.finish()
        };
        let forward = collect(&mut (0..100));
        assert_eq!(forward, collect(&mut (0..100).rev()));
        assert_eq!((forward.matches, forward.files_matched, forward.kept_lines()), (300, 100, 10));
        assert_eq!(forward.left_out(), 290);
        assert_eq!(forward.files.last().unwrap().path.as_str(), "/0003");
    }

    #[test]
    fn the_newest_entries_are_kept() {
        let entry = |n: i128| {
            Entry::new(VirtualPath::parse(&format!("/{n}")).unwrap(), EntryKind::File)
                .size(0)
                .modified(Timestamp::from_nanos(n / 2))
        };
        let mut kept = TopEntries::new(3);
        (0..1000).for_each(|n| kept.extend([entry(n)]));
        kept.count_left_out(5);
        let found = kept.finish(Skipped::default(), Completeness::Complete);
        let paths: Vec<_> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!((paths, found.left_out), (vec!["/998", "/999", "/996"], 1002));
    }
}
