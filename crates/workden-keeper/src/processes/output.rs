//! `BoundedOutput`: the head and the tail of an output, in bounded memory.
//!
//! Bytes are decoded at the end, so that a character split between two reads is whole again. A character has at most
//! four bytes, so the buffers hold four bytes per character.

use std::collections::VecDeque;

use workden_core::sandbox::{FullLog, LeftOut, Output};

/// The most characters that are kept, whatever the request asks for.
const MOST_CHARS: usize = 4 * workden_core::limits::OUTPUT_CHARS;

/// The head and the tail of an output.
#[derive(Debug)]
pub(crate) struct BoundedOutput {
    most_chars: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    printed: u64,
    line_ends: u64,
}

impl BoundedOutput {
    /// Creates an output that keeps at most this many characters.
    pub(crate) fn new(most_chars: usize) -> Self {
        let most_chars = most_chars.min(MOST_CHARS);
        Self { most_chars, head: Vec::new(), tail: VecDeque::new(), printed: 0, line_ends: 0 }
    }

    fn head_chars(&self) -> usize {
        self.most_chars / 2
    }

    fn tail_chars(&self) -> usize {
        self.most_chars - self.head_chars()
    }

    /// Adds output.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.printed += bytes.len() as u64;
        self.line_ends += count_line_ends(bytes);
        let room = (4 * self.head_chars()).saturating_sub(self.head.len());
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let most = 4 * self.tail_chars();
        let rest = &rest[rest.len().saturating_sub(most)..];
        let too_many = (self.tail.len() + rest.len()).saturating_sub(most);
        self.tail.drain(..too_many);
        self.tail.extend(rest);
    }

    /// Returns whether the text will be incomplete.
    pub(crate) fn leaves_out(&self) -> bool {
        // A character has at least one byte: short outputs need no counting.
        !self.is_whole() || (self.printed > self.most_chars as u64 && self.too_many_chars())
    }

    fn too_many_chars(&self) -> bool {
        let all: Vec<u8> = self.slices().concat();
        chars(&all).count() > self.most_chars
    }

    /// Returns whether the output is still complete.
    fn is_whole(&self) -> bool {
        self.printed == (self.head.len() + self.tail.len()) as u64
    }

    /// Returns the kept bytes, in order.
    pub(crate) fn slices(&self) -> [&[u8]; 3] {
        let (first, second) = self.tail.as_slices();
        [&self.head, first, second]
    }

    /// Returns the text, and what was left out. `log` returns where the complete output is.
    pub(crate) fn into_output(mut self, log: impl FnOnce() -> Option<FullLog>) -> Output {
        let whole = self.is_whole();
        let (head_chars, tail_chars) = (self.head_chars(), self.tail_chars());
        if whole {
            let mut all = std::mem::take(&mut self.head);
            all.extend(&self.tail);
            if chars(&all).count() <= self.most_chars {
                let head = match String::from_utf8(all) {
                    Ok(text) => text,
                    Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
                };
                return Output::new(head);
            }
            self.tail = VecDeque::from(all.clone());
            self.head = all;
        }
        let head_length: usize = chars(&self.head).take(head_chars).sum();
        let head = &self.head[..head_length];
        let tail = self.tail.make_contiguous();
        // The ring may start in the middle of a character.
        let torn = if whole { 0 } else { tail.iter().take(3).take_while(|&&byte| byte & 0xC0 == 0x80).count() };
        let tail = &tail[torn..];
        let too_many = chars(tail).count().saturating_sub(tail_chars);
        let tail = &tail[chars(tail).take(too_many).sum()..];
        let bytes = self.printed - (head.len() + tail.len()) as u64;
        let lines = self.line_ends - count_line_ends(head) - count_line_ends(tail);
        Output::new(lossy(head)).left_out(LeftOut::new(bytes, lines).log(log())).tail(lossy(tail))
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the number of bytes of each character of a lossy text.
fn chars(bytes: &[u8]) -> impl Iterator<Item = usize> {
    bytes.utf8_chunks().flat_map(|chunk| {
        let broken = chunk.invalid().len();
        chunk.valid().chars().map(char::len_utf8).chain((broken > 0).then_some(broken))
    })
}

fn count_line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Returns how many bytes at the start of a slice form complete characters.
pub(crate) fn complete(bytes: &[u8]) -> usize {
    let tail_start = bytes.len().saturating_sub(3);
    for at in (tail_start..bytes.len()).rev() {
        let needs = match bytes[at] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => break,
        };
        let starts = &bytes[at..];
        let broken = starts.utf8_chunks().next().is_none_or(|chunk| chunk.invalid().len() != starts.len());
        return if starts.len() < needs && !broken { at } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(most_chars: usize, pieces: &[&[u8]]) -> Output {
        let mut kept = BoundedOutput::new(most_chars);
        pieces.iter().for_each(|piece| kept.push(piece));
        kept.into_output(|| None)
    }

    #[test]
    fn head_and_tail_with_what_is_between_counted() {
        for (most, pieces, head, between, tail) in [
            (10, &[&b"0123456789"[..]][..], "0123456789", None, ""),
            (10, &[b"0123456789a"], "01234", Some((1, 0)), "6789a"),
            (4, &[b"a\nb\n", b"c\nd\n", b"e\nf\n"], "a\n", Some((8, 4)), "f\n"),
            (4, &["äöüß€😀".as_bytes()], "äö", Some((4, 0)), "€😀"),
            (5, &[b"\xF0\x9F", b"\x98\x80x"], "😀x", None, ""),
            (4, &[b"\xFFa\xFFb\xFFc\xFFd"], "\u{FFFD}a", Some((4, 0)), "\u{FFFD}d"),
            (0, &[b"abc"], "", Some((3, 0)), ""),
            (1, &[b"abc"], "", Some((2, 0)), "c"),
        ] {
            let output = kept(most, pieces);
            assert_eq!(output.head, head);
            assert_eq!(output.left_out.map(|left_out| (left_out.bytes, left_out.lines)), between, "{head}");
            assert_eq!(output.tail, tail);
        }
    }

    #[test]
    fn a_flood_is_kept_in_bounded_memory_and_counted_exactly() {
        let line = "zwölf Boxkämpfer jagen Viktor\n".repeat(1000);
        let mut kept = BoundedOutput::new(100);
        for piece in (0..200).flat_map(|_| line.as_bytes().chunks(777)) {
            kept.push(piece);
        }
        let printed = kept.printed;
        assert!(kept.head.capacity() + kept.tail.capacity() < 4096);
        let output = kept.into_output(|| None);
        let left_out = output.left_out.unwrap();
        assert_eq!(printed, 200 * line.len() as u64);
        assert_eq!(output.head.chars().count(), 50);
        assert_eq!(output.tail.chars().count(), 50);
        assert!(line.starts_with(&output.head) && line.ends_with(&output.tail));
        assert_eq!(left_out.bytes, printed - (output.head.len() + output.tail.len()) as u64);
        assert_eq!(left_out.lines, 200_000 - 1 - 2);
    }

    #[test]
    fn a_character_at_the_end_waits_until_it_is_complete() {
        for (bytes, shown) in [
            (&b"abc"[..], 3),
            (b"ab\xC3", 2),
            (b"ab\xC3\xA4", 4),
            (b"a\xE2\x82", 1),
            (b"a\xF0\x9F\x98", 1),
            (b"a\xF0\x9F\x98\x80", 5),
            (b"a\xFF", 2),
            (b"a\xE2(", 3),
            (b"a\x80\x80", 3),
            (b"a\xED\xA0", 3),
            (b"", 0),
        ] {
            assert_eq!(complete(bytes), shown, "{bytes:?}");
        }
    }
}
