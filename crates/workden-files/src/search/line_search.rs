//! Searching for lines in the bytes of one file, with ripgrep's searcher.
//!
//! A `LineSearch` is compiled once; each thread uses a `LineWorker`, which reuses its buffers from file to file.
//! Invariant: for one file, a worker holds no more lines than the answer may keep, and counts no more than the
//! request's limit.

use std::io::{self, Read};

use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use workden_core::{
    Result, limits,
    search::{Detail, GrepRequest, LineMatch, LineMatches, LineRole, Skipped, Span},
    text::encoding::is_binary,
};

use super::line_pattern;

/// Lines for which a worker keeps memory from file to file.
const ROOM_LINES: usize = 1_000;

/// A compiled search for lines.
#[derive(Clone, Debug)]
pub struct LineSearch {
    matcher: RegexMatcher,
    builder: SearcherBuilder,
    detail: Detail,
    line_bytes: usize,
    keep: usize,
}

/// The result of searching one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSearch {
    /// The file has matches: the number of lines, and the lines if requested.
    Matched {
        /// How many lines match.
        count: u64,
        /// The lines and their context.
        lines: LineMatches,
    },
    /// The file has no matches.
    Unmatched,
    /// The file is binary, and was not searched.
    Binary,
    /// A line is too long to hold in memory, or the whole file is, for a multi-line search.
    TooLarge,
    /// The file could not be read.
    Unreadable,
}

impl FileSearch {
    /// Counts a file that could not be searched.
    pub fn count_in(&self, skipped: &mut Skipped) {
        match self {
            Self::Matched { .. } | Self::Unmatched => {}
            Self::Binary => skipped.binary += 1,
            Self::TooLarge => skipped.too_large += 1,
            Self::Unreadable => skipped.unreadable += 1,
        }
    }
}

impl LineSearch {
    /// Compiles the search of a request.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if the pattern does not compile.
    pub fn new(request: &GrepRequest) -> Result<Self> {
        let with_lines = request.detail == Detail::Lines;
        let most = request.max_count.map_or(request.ceiling, |most| most.min(request.ceiling));
        let mut builder = SearcherBuilder::new();
        builder
            .line_number(with_lines)
            .multi_line(request.pattern.span == Span::MultiLine)
            .heap_limit(Some(limits::GREP_HEAP_BYTES))
            .binary_detection(BinaryDetection::none())
            .max_matches(Some(most));
        if with_lines {
            builder.before_context(request.context.before).after_context(request.context.after);
        }
        Ok(Self {
            matcher: line_pattern::compile(&request.pattern)?,
            builder,
            detail: request.detail,
            line_bytes: request.line_bytes,
            keep: request.keep,
        })
    }

    /// Returns a worker for one thread.
    #[must_use]
    pub fn worker(&self) -> LineWorker {
        LineWorker {
            matcher: self.matcher.clone(),
            searcher: self.builder.build(),
            detail: self.detail,
            line_bytes: self.line_bytes,
            keep: self.keep,
            lines: LineMatches::default(),
        }
    }
}

/// Searches files one after the other.
#[derive(Debug)]
pub struct LineWorker {
    matcher: RegexMatcher,
    searcher: Searcher,
    detail: Detail,
    line_bytes: usize,
    keep: usize,
    /// The lines of the current file. Their memory is reused for the next file.
    lines: LineMatches,
}

impl LineWorker {
    /// Searches a file in memory.
    pub fn search_bytes(&mut self, content: &[u8]) -> FileSearch {
        if is_binary(content) {
            return FileSearch::Binary;
        }
        if content.len() > limits::GREP_HEAP_BYTES && self.searcher.multi_line_with_matcher(&self.matcher) {
            return FileSearch::TooLarge;
        }
        let mut lines = Collected::new(self.detail, self.line_bytes, self.keep, &mut self.lines);
        let outcome = self.searcher.search_slice(&self.matcher, content, &mut lines);
        lines.finish(outcome)
    }

    /// Searches a file while reading it. `head` is the part that was already read: enough to detect a binary file.
    pub fn search_reader(&mut self, head: &[u8], rest: impl Read) -> FileSearch {
        if is_binary(head) {
            return FileSearch::Binary;
        }
        let mut lines = Collected::new(self.detail, self.line_bytes, self.keep, &mut self.lines);
        let outcome = self.searcher.search_reader(&self.matcher, head.chain(rest), &mut lines);
        lines.finish(outcome)
    }
}

struct Collected<'w> {
    detail: Detail,
    line_bytes: usize,
    keep: usize,
    count: u64,
    lines: &'w mut LineMatches,
}

impl<'w> Collected<'w> {
    fn new(detail: Detail, line_bytes: usize, keep: usize, lines: &'w mut LineMatches) -> Self {
        lines.truncate(0);
        Self { detail, line_bytes, keep, count: 0, lines }
    }

    fn push(&mut self, number: u64, line: &[u8], role: LineRole) {
        // An answer keeps the first lines of a file, so later ones need not be stored.
        if self.lines.len() >= self.keep {
            return;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let shown = shown_bytes(line, self.line_bytes);
        let left_out = (line.len() - shown) as u64;
        // Nearly all lines are valid UTF-8, which is quick to check.
        match str::from_utf8(&line[..shown]) {
            Ok(text) => self.lines.push(LineMatch::new(number, text, role).left_out(left_out)),
            Err(_) => {
                let text = &String::from_utf8_lossy(&line[..shown]);
                self.lines.push(LineMatch::new(number, text, role).left_out(left_out));
            }
        }
    }

    fn finish(self, outcome: io::Result<()>) -> FileSearch {
        match outcome {
            Err(error) if error.to_string().contains("allocation limit") => FileSearch::TooLarge,
            Err(_) => FileSearch::Unreadable,
            Ok(()) if self.count == 0 => FileSearch::Unmatched,
            // A large buffer is not kept: the next file may not need it.
            Ok(()) if self.lines.len() > ROOM_LINES => {
                FileSearch::Matched { count: self.count, lines: std::mem::take(self.lines) }
            }
            Ok(()) => FileSearch::Matched { count: self.count, lines: self.lines.clone() },
        }
    }
}

/// Returns how many bytes of a line to show: at most `most`, without splitting a character.
fn shown_bytes(line: &[u8], most: usize) -> usize {
    if line.len() <= most {
        return line.len();
    }
    let is_continuation = |at: usize| line[at] & 0xC0 == 0x80;
    (most.saturating_sub(3)..=most).rev().find(|at| !is_continuation(*at)).unwrap_or(most)
}

impl Sink for Collected<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.detail {
            Detail::Paths => {
                self.count = 1;
                Ok(false)
            }
            Detail::Counts => {
                self.count += found.lines().count() as u64;
                Ok(true)
            }
            Detail::Lines => {
                for (number, line) in (found.line_number().unwrap_or(0)..).zip(found.lines()) {
                    self.count += 1;
                    self.push(number, line, LineRole::Match);
                }
                Ok(true)
            }
        }
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        self.push(found.line_number().unwrap_or(0), found.bytes(), LineRole::Context);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workden_core::search::{Context, LetterCase, Pattern};

    fn both_ways(request: &GrepRequest, content: &[u8]) -> FileSearch {
        let search = LineSearch::new(request).unwrap();
        let at_once = search.worker().search_bytes(content);
        let (head, rest) = content.split_at(content.len().min(64 * 1024));
        assert_eq!(search.worker().search_reader(head, rest), at_once, "memory and stream differ");
        at_once
    }

    fn shown(request: &GrepRequest, content: &[u8]) -> Vec<String> {
        match both_ways(request, content) {
            FileSearch::Matched { lines, .. } => lines
                .iter()
                .map(|line| {
                    format!("{}{}{}", line.number, if line.role == LineRole::Match { ':' } else { '-' }, line.text)
                })
                .collect(),
            other => vec![format!("{other:?}")],
        }
    }

    #[test]
    fn lines_with_their_numbers() {
        assert_eq!(shown(&GrepRequest::regex("b+"), b"a\nbb\nc\nb"), ["2:bb", "4:b"]);
        assert_eq!(shown(&GrepRequest::literal("a."), b"ab\na.\r\n"), ["2:a."]);
        assert_eq!(shown(&GrepRequest::regex("z"), b"a\n"), ["Unmatched"]);
        assert_eq!(shown(&GrepRequest::regex("caf"), b"caf\xE9\n"), ["1:caf\u{FFFD}"]);
        let utf16: Vec<u8> = "\u{FEFF}häy\nneedle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(shown(&GrepRequest::regex("needle"), &utf16), ["2:needle"]);
    }

    #[test]
    fn context_case_count_and_lines_across() {
        let around = GrepRequest::regex("c").context(Context::new(1, 1));
        assert_eq!(shown(&around, b"a\nb\nc\nd\ne\n"), ["2-b", "3:c", "4-d"]);
        let smart = |text: &str| GrepRequest::new(Pattern { case: LetterCase::Smart, ..Pattern::regex(text) });
        assert_eq!(shown(&smart("ab"), b"AB\n"), ["1:AB"]);
        assert_eq!(shown(&smart("Ab"), b"AB\n"), ["Unmatched"]);
        let once = GrepRequest::regex("a").max_count(1);
        assert_eq!(shown(&once, b"a\na\n"), ["1:a"]);
        let across = GrepRequest::new(Pattern { span: Span::MultiLine, ..Pattern::regex("b\\nc") });
        assert_eq!(shown(&across, b"a\nb\nc\n"), ["2:b", "3:c"]);
    }

    #[test]
    fn binary_is_not_searched() {
        assert_eq!(both_ways(&GrepRequest::regex("a"), b"a\0b"), FileSearch::Binary);
    }

    #[test]
    fn a_long_line_is_shown_in_part() {
        let request = GrepRequest::regex("x").line_bytes(4);
        match both_ways(&request, "xaaéé\n".as_bytes()) {
            FileSearch::Matched { lines, .. } => {
                assert_eq!(lines.iter().next().map(|line| (line.text, line.left_out)), Some(("xaa", 4)))
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_endless_line_is_too_large_not_held() {
        let search = LineSearch::new(&GrepRequest::regex("needle")).unwrap();
        let endless = io::repeat(b'a').take(limits::GREP_HEAP_BYTES as u64 * 2);
        assert_eq!(search.worker().search_reader(b"a", endless), FileSearch::TooLarge);
    }

    #[test]
    fn a_pattern_made_to_backtrack_takes_linear_time() {
        let started = std::time::Instant::now();
        let content = [vec![b'a'; 10_000], b"b\n".to_vec()].concat();
        assert_eq!(both_ways(&GrepRequest::regex("(a+)+$"), &content), FileSearch::Unmatched);
        assert!(started.elapsed().as_secs() < 60);
    }

    #[test]
    fn no_more_lines_are_held_than_kept_nor_counted_than_the_ceiling() {
        let content = b"a\n".repeat(1_000);
        for (keep, ceiling, held, counted) in [(10, 1_000_000, 10, 1_000), (0, 50, 0, 50), (100, 50, 50, 50)] {
            let request = GrepRequest::regex("a").keep(keep).ceiling(ceiling);
            match both_ways(&request, &content) {
                FileSearch::Matched { count, lines } => assert_eq!((lines.len(), count), (held, counted)),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_one_file_left_is_not_in_the_next_however_much_it_was() {
        let mut worker = LineSearch::new(&GrepRequest::regex("a")).unwrap().worker();
        for lines in [3, ROOM_LINES + 1, 1, ROOM_LINES, 2] {
            match worker.search_bytes(&b"a\n".repeat(lines)) {
                FileSearch::Matched { lines: found, .. } => {
                    assert_eq!(found.iter().map(|line| line.text).collect::<String>(), "a".repeat(lines));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn only_paths_or_counts() {
        let request = |detail| GrepRequest::regex("a").detail(detail);
        assert_eq!(
            both_ways(&request(Detail::Paths), b"a\na\n"),
            FileSearch::Matched { count: 1, lines: LineMatches::default() }
        );
        assert_eq!(
            both_ways(&request(Detail::Counts), b"a\na\n"),
            FileSearch::Matched { count: 2, lines: LineMatches::default() }
        );
    }
}
