//! Reads lines of bounded length. Of a longer line only the start is kept.

use std::{io, os::fd::BorrowedFd};

use crate::descriptor::Descriptor;

/// The number of bytes that are kept of a line that is too long, to find its id.
const BEGINNING: usize = 64 * 1024;

/// A line of input, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// The start of a line that was too long.
    TooLong(Vec<u8>),
}

/// Lines of standard input.
pub(super) struct Lines<'fd> {
    input: Descriptor<'fd>,
    splitter: Splitter,
}

impl<'fd> Lines<'fd> {
    pub(super) fn new(input: BorrowedFd<'fd>, most: usize) -> Self {
        Self { input: Descriptor::new(input), splitter: Splitter::new(most) }
    }

    /// Returns the next line, or `None` at the end. A last line without a newline counts. Cancel safe.
    pub(super) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.splitter.next() {
                return Ok(Some(line));
            }
            let bytes = self.input.read().await?;
            if bytes.is_empty() {
                return Ok(self.splitter.last());
            }
            self.splitter.take(bytes);
        }
    }
}

/// Splits bytes into lines.
struct Splitter {
    most: usize,
    /// The bytes of the last read; those before `at` are in a line.
    read: Vec<u8>,
    at: usize,
    line: Vec<u8>,
    is_too_long: bool,
}

impl Splitter {
    fn new(most: usize) -> Self {
        Self { most, read: Vec::new(), at: 0, line: Vec::new(), is_too_long: false }
    }

    fn take(&mut self, bytes: Vec<u8>) {
        self.read = bytes;
        self.at = 0;
    }

    fn next(&mut self) -> Option<Line> {
        let rest = &self.read[self.at..];
        let end = rest.iter().position(|byte| *byte == b'\n');
        let part = &rest[..end.unwrap_or(rest.len())];
        if self.is_too_long || self.line.len() + part.len() > self.most {
            let room = BEGINNING.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            self.line.truncate(BEGINNING);
            self.is_too_long = true;
        } else {
            self.line.extend_from_slice(part);
        }
        self.at += part.len() + usize::from(end.is_some());
        end.map(|_| self.finished())
    }

    fn last(&mut self) -> Option<Line> {
        (!self.line.is_empty() || self.is_too_long).then(|| self.finished())
    }

    fn finished(&mut self) -> Line {
        let line = std::mem::take(&mut self.line);
        match std::mem::take(&mut self.is_too_long) {
            true => Line::TooLong(line),
            false => Line::Whole(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&str], most: usize) -> Vec<Line> {
        let mut splitter = Splitter::new(most);
        let mut all = Vec::new();
        for piece in pieces {
            splitter.take(piece.as_bytes().to_vec());
            all.extend(std::iter::from_fn(|| splitter.next()));
        }
        all.extend(splitter.last());
        all
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_come_whole_however_they_are_cut() {
        let expected = [whole("ab"), whole(""), whole("cde"), whole("f")];
        assert_eq!(lines(&["ab\n\ncde\nf"], 10), expected);
        assert_eq!(lines(&["a", "b\n", "\nc", "d", "e\nf"], 10), expected);
        assert_eq!(lines(&[], 10), []);
        assert_eq!(lines(&["a\n"], 10), [whole("a")]);
    }

    #[test]
    fn a_line_that_is_too_long_is_told_from_those_around_it() {
        assert_eq!(
            lines(&["abc\nabcd", "ef\nabc"], 3),
            [whole("abc"), Line::TooLong(b"abcdef".to_vec()), whole("abc")]
        );
        let long = "x".repeat(BEGINNING * 3);
        let all = lines(&[&long, &long, "\nb"], BEGINNING * 4);
        assert_eq!(all, [Line::TooLong(long.as_bytes()[..BEGINNING].to_vec()), whole("b")]);
    }
}
