//! The lines of a file around a change, after it: a few, so that a model sees what became of its edit.

use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

use super::splice::Splice;

/// Lines shown before and after each changed place.
const CONTEXT: usize = 2;
/// Lines shown in all.
const MOST_LINES: usize = 20;
/// Characters of one line that are shown.
const LINE_CHARS: usize = 400;

/// Lines of a file after a change: those that changed, and a few around them. Empty for a file that is not UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChangedLines {
    /// The lines, in order.
    pub lines: Vec<ChangedLine>,
    /// Whether further changed lines are not shown.
    pub has_more: bool,
}

/// One line of a file after a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChangedLine {
    /// The number of the line, from 1.
    pub number: u64,
    /// The line without its line feed, or its start.
    pub text: String,
    /// Whether only the start of the line is shown.
    pub is_cut: bool,
}

impl ChangedLines {
    /// Returns the lines around these splices of a content, after them.
    ///
    /// The splices are in order, do not overlap and are within the content; others give no lines.
    #[must_use]
    pub fn around(before: &[u8], splices: &[Splice]) -> Self {
        Self::collect(before, splices).unwrap_or_default()
    }

    fn collect(before: &[u8], splices: &[Splice]) -> Option<Self> {
        let mut shown = Self::default();
        // Line endings of the new content before the place that the loop has reached, which is `counted` in the old.
        let (mut endings, mut counted) = (0_u64, 0);
        let mut next = splices.iter().peekable();
        while let Some(first) = next.next() {
            let mut end = usize::try_from(first.end).ok()?;
            let start = lines_before(before, usize::try_from(first.start).ok()?, counted)?;
            endings += count(before.get(counted..start)?);
            let mut block = before.get(start..usize::try_from(first.start).ok()?)?.to_vec();
            block.extend_from_slice(&first.bytes);
            // Places that share lines of context are shown as one.
            while let Some(close) = next.next_if(|splice| is_close(before, end, splice)) {
                block.extend_from_slice(before.get(end..usize::try_from(close.start).ok()?)?);
                block.extend_from_slice(&close.bytes);
                end = usize::try_from(close.end).ok()?;
                if count(&block) > MOST_LINES as u64 {
                    break;
                }
            }
            let rest = lines_after(before, end)?;
            let unspliced = next.peek().and_then(|splice| usize::try_from(splice.start).ok()).unwrap_or(before.len());
            block.extend_from_slice(before.get(end..rest.min(unspliced))?);
            shown.push(endings, std::str::from_utf8(&block).ok()?);
            if shown.lines.len() >= MOST_LINES {
                shown.has_more |= next.peek().is_some();
                break;
            }
            endings += count(&block);
            counted = rest.min(unspliced);
        }
        Some(shown)
    }

    /// Adds the lines of a block that follows this many line endings.
    fn push(&mut self, endings: u64, block: &str) {
        let body = block.strip_suffix('\n').unwrap_or(block);
        let lines = (!block.is_empty()).then(|| body.split('\n')).into_iter().flatten();
        for (number, line) in (endings + 1..).zip(lines) {
            if self.lines.len() == MOST_LINES {
                self.has_more = true;
                return;
            }
            // Only a line of more bytes can have more characters.
            let is_long = line.len() > LINE_CHARS;
            let end = is_long.then(|| line.char_indices().nth(LINE_CHARS)).flatten().map(|(end, _)| end);
            let text = line[..end.unwrap_or(line.len())].to_owned();
            self.lines.push(ChangedLine { number, text, is_cut: end.is_some() });
        }
    }
}

/// Returns the start of the lines of context before a place, not before `least`.
fn lines_before(content: &[u8], place: usize, least: usize) -> Option<usize> {
    let above = content.get(least..place)?;
    Some(memchr::memrchr_iter(b'\n', above).nth(CONTEXT).map_or(least, |ending| least + ending + 1))
}

/// Returns the end of the line of a place and of the lines of context after it.
fn lines_after(content: &[u8], place: usize) -> Option<usize> {
    let below = content.get(place..)?;
    // After a line ending the line of the place is over already.
    let ended = place > 0 && content[place - 1] == b'\n';
    let last = CONTEXT - usize::from(ended);
    Some(memchr_iter(b'\n', below).nth(last).map_or(content.len(), |ending| place + ending + 1))
}

/// Whether a splice is so close to the end of another that their context would overlap.
fn is_close(content: &[u8], end: usize, splice: &Splice) -> bool {
    let between = usize::try_from(splice.start).ok().and_then(|start| content.get(end..start));
    between.is_some_and(|between| memchr_iter(b'\n', between).take(2 * CONTEXT + 1).count() <= 2 * CONTEXT)
}

fn count(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        VirtualPath,
        text::{Change, Replacement, splice::apply_splices},
    };

    fn shown(before: &str, replacement: Replacement) -> ChangedLines {
        let path = VirtualPath::parse("/f").unwrap();
        let plan = Change::Replace(vec![replacement]).plan(&path, before.as_bytes()).unwrap();
        let lines = ChangedLines::around(before.as_bytes(), &plan.splices);
        let after = apply_splices(before.as_bytes(), &plan.splices).unwrap();
        let after: Vec<&str> = std::str::from_utf8(&after).unwrap().split('\n').collect();
        for line in &lines.lines {
            let there = after[usize::try_from(line.number).unwrap() - 1];
            assert!(there == line.text || line.is_cut && there.starts_with(&line.text), "{line:?} is not in {after:?}");
        }
        lines
    }

    fn numbers(lines: &ChangedLines) -> Vec<u64> {
        lines.lines.iter().map(|line| line.number).collect()
    }

    fn numbered(last: u64) -> String {
        (1..=last).map(|number| format!("line {number:03}\n")).collect()
    }

    #[test]
    fn two_lines_are_shown_around_a_change() {
        let lines = shown(&numbered(9), Replacement::once("line 005", "five\nand a half"));
        assert_eq!(numbers(&lines), [3, 4, 5, 6, 7, 8]);
        assert_eq!(lines.lines[3].text, "and a half");
        assert!(!lines.has_more);
        assert_eq!(numbers(&shown(&numbered(9), Replacement::once("line 001", "one"))), [1, 2, 3]);
        assert_eq!(numbers(&shown(&numbered(9), Replacement::once("line 009\n", ""))), [7, 8]);
        assert_eq!(numbers(&shown(&numbered(9), Replacement::once("line 005\n", ""))), [3, 4, 5, 6]);
        assert!(shown("one", Replacement::once("one", "")).lines.is_empty());
        assert_eq!(numbers(&shown("a\r\nb", Replacement::once("b", "c"))), [1, 2]);
    }

    #[test]
    fn places_far_apart_are_shown_apart_and_close_ones_together() {
        let lines = shown(&numbered(60), Replacement::all("0\n", "0!\nnew\n"));
        assert_eq!(numbers(&lines)[..7], [8, 9, 10, 11, 12, 13, 19]);
        assert!(lines.lines.len() == MOST_LINES && lines.has_more, "{lines:?}");
        let lines = shown(&numbered(12), Replacement::all("1\n", "1!\n"));
        assert_eq!(numbers(&lines), [1, 2, 3, 9, 10, 11, 12]);
        assert_eq!(numbers(&shown("x y x\nx\n", Replacement::all("x", "z"))), [1, 2]);
    }

    #[test]
    fn long_changes_and_lines_are_cut() {
        let lines = shown("a\nb\n", Replacement::once("b", numbered(500)));
        assert!(lines.lines.len() == MOST_LINES && lines.has_more, "{lines:?}");
        let lines = shown("a\n", Replacement::once("a", "é".repeat(1_000)));
        assert!(lines.lines[0].is_cut && lines.lines[0].text.chars().count() == LINE_CHARS);
        let many = "x\n".repeat(100_000);
        assert_eq!(numbers(&shown(&many, Replacement::all("x", "y"))).len(), MOST_LINES);
    }

    #[test]
    fn a_file_that_is_not_utf_8_shows_none() {
        let splice = Splice { start: 0, end: 1, bytes: b"b".to_vec() };
        assert_eq!(ChangedLines::around(b"a\xe9\n", std::slice::from_ref(&splice)), ChangedLines::default());
        let outside = Splice { end: 9, ..splice };
        assert_eq!(ChangedLines::around(b"a\n", &[outside]), ChangedLines::default());
    }
}
