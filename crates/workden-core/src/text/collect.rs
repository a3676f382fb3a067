//! The state of a scan through a text in blocks: the lines or characters of a window, and whether the text is UTF-8.
//! Memory is bounded by the window and a part of one character.

use memchr::memchr_iter;

use super::{
    encoding::{Encoding, UTF8_BOM, not_text},
    window::{Excerpt, Extent},
};
use crate::{Result, VirtualPath};

/// Checks whether content in pieces is UTF-8.
#[derive(Default)]
pub(super) struct Utf8Check {
    carry: Vec<u8>,
    failed: bool,
}

impl Utf8Check {
    pub(super) fn take(&mut self, mut block: &[u8]) {
        // A split character is completed byte by byte, with at most three bytes.
        while let ([byte, rest @ ..], false, false) = (block, self.carry.is_empty(), self.failed) {
            self.carry.push(*byte);
            block = rest;
            match std::str::from_utf8(&self.carry) {
                Ok(_) => self.carry.clear(),
                Err(error) => self.failed = error.error_len().is_some(),
            }
        }
        if self.failed {
            return;
        }
        if let Err(error) = std::str::from_utf8(block) {
            self.failed = error.error_len().is_some();
            self.carry = block[error.valid_up_to()..].to_vec();
        }
    }

    pub(super) fn finish(self) -> bool {
        !self.failed && self.carry.is_empty()
    }
}

/// The lines of a window, and the number of lines in the text.
pub(super) struct LineCollector {
    offset: u64,
    end: u64,
    room: usize,
    newlines: u64,
    pub(super) kept: Vec<u8>,
    pub(super) overflowed: bool,
    last: Option<u8>,
    pub(super) bytes: u64,
}

impl LineCollector {
    pub(super) fn new(offset: u64, limit: u64, max_chars: u64) -> Self {
        // A character has at most four bytes; one more byte shows that the text goes on, and a byte-order mark may come
        // first.
        let room = max_chars.saturating_mul(4).saturating_add(1 + UTF8_BOM.len() as u64);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        Self {
            offset,
            end: offset.saturating_add(limit),
            room,
            newlines: 0,
            kept: Vec::new(),
            overflowed: false,
            last: None,
            bytes: 0,
        }
    }

    pub(super) fn take(&mut self, block: &[u8]) {
        self.last = block.last().copied().or(self.last);
        self.bytes += block.len() as u64;
        let (_, rest) = self.split_at_line(block, self.offset);
        let (wanted, rest) = self.split_at_line(rest, self.end);
        if self.offset < self.end {
            let fits = wanted.len().min(self.room - self.kept.len());
            self.kept.extend_from_slice(&wanted[..fits]);
            self.overflowed |= fits < wanted.len();
        }
        self.newlines += memchr_iter(b'\n', rest).count() as u64;
    }

    /// Splits a block at the start of line number `line` (from 0), and counts the newlines before it.
    fn split_at_line<'b>(&mut self, block: &'b [u8], line: u64) -> (&'b [u8], &'b [u8]) {
        if self.newlines >= line {
            return block.split_at(0);
        }
        let missing = line - self.newlines;
        let here = memchr_iter(b'\n', block).count() as u64;
        if here < missing {
            self.newlines += here;
            return block.split_at(block.len());
        }
        let nth = usize::try_from(missing - 1).unwrap_or(usize::MAX);
        let at = memchr_iter(b'\n', block).nth(nth).map_or(block.len(), |at| at + 1);
        self.newlines = line;
        block.split_at(at)
    }

    pub(super) fn total_lines(&self) -> u64 {
        self.newlines + u64::from(self.last.is_some_and(|last| last != b'\n'))
    }
}

/// The characters of a window, and the number of characters in the text.
pub(super) struct CharCollector {
    offset: u64,
    limit: u64,
    total: u64,
    text: String,
    shown: u64,
    carry: Vec<u8>,
    pub(super) is_utf8: bool,
    /// Bytes of a byte-order mark that are still to be skipped.
    pub(super) skip: usize,
}

impl CharCollector {
    pub(super) fn new(offset: u64, limit: u64) -> Self {
        Self { offset, limit, total: 0, text: String::new(), shown: 0, carry: Vec::new(), is_utf8: true, skip: 0 }
    }

    pub(super) fn take(&mut self, block: &[u8]) {
        if !self.is_utf8 {
            return;
        }
        let marked = self.skip.min(block.len());
        self.skip -= marked;
        let block = &block[marked..];
        let joined;
        let block = if self.carry.is_empty() {
            block
        } else {
            joined = [std::mem::take(&mut self.carry).as_slice(), block].concat();
            &joined
        };
        match std::str::from_utf8(block) {
            Ok(text) => self.take_text(text),
            Err(error) if error.error_len().is_none() => {
                let (whole, carry) = block.split_at(error.valid_up_to());
                self.carry = carry.to_vec();
                self.take_text(&Encoding::Utf8.decode_lossy(whole));
            }
            Err(_) => self.is_utf8 = false,
        }
    }

    fn take_text(&mut self, text: &str) {
        let count = text.chars().count() as u64;
        let skip = self.offset.saturating_sub(self.total).min(count);
        let take = (self.limit - self.shown).min(count - skip);
        if take > 0 {
            let at = |nth: u64| {
                let nth = usize::try_from(nth).unwrap_or(usize::MAX);
                text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at)
            };
            self.text.push_str(&text[at(skip)..at(skip + take)]);
            self.shown += take;
        }
        self.total += count;
    }

    pub(super) fn finish(&mut self) {
        self.is_utf8 &= self.carry.is_empty();
    }

    pub(super) fn into_excerpt(self, path: &VirtualPath, encoding: Encoding) -> Result<Excerpt> {
        if self.text.contains('\0') {
            return Err(not_text("read", path));
        }
        let extent = Extent::Chars { offset: self.offset, shown: self.shown, total: self.total };
        Ok(Excerpt::new(self.text, encoding.label(), extent))
    }
}
