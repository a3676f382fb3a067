//! The last output of a process, by offset, and how far each client that follows has read.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use workden::Result;
use workden_core::sandbox::{Ended, Stream};

/// Bytes that are kept for clients that come later.
const KEPT: u64 = 1 << 20;

/// The log of one process.
#[derive(Debug, Default)]
pub(super) struct OutputLog {
    pieces: VecDeque<(u64, Stream, Bytes)>,
    /// The offset after the last byte.
    pub(super) next: u64,
    /// Limits that it hit, in words.
    pub(super) limits: Vec<String>,
    pub(super) ended: Option<Result<Ended>>,
    /// The offsets that the clients that follow have read to.
    followers: BTreeMap<u64, u64>,
    last_follower: u64,
}

/// What a client reads next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Output, which ends at this offset.
    Output(Stream, Bytes, u64),
    /// The log no longer holds this many bytes; the next one has this offset.
    Lost(u64, u64),
    /// There is no more at present.
    Nothing,
}

impl OutputLog {
    /// Adds output, and drops the oldest beyond what is kept.
    pub(super) fn push(&mut self, stream: Stream, bytes: Bytes) {
        if bytes.is_empty() {
            return;
        }
        let offset = self.next;
        self.next += bytes.len() as u64;
        self.pieces.push_back((offset, stream, bytes));
        while let Some((offset, _, piece)) = self.pieces.front()
            && offset + (piece.len() as u64) + KEPT <= self.next
        {
            self.pieces.pop_front();
        }
    }

    /// Whether a client that follows would lose output if this much came.
    pub(super) fn would_lose(&self, bytes: usize) -> bool {
        let dropped_before = (self.next + bytes as u64).saturating_sub(KEPT);
        let first_end = self.pieces.front().map_or(self.next, |(offset, _, piece)| offset + piece.len() as u64);
        first_end <= dropped_before && self.followers.values().any(|read| *read < dropped_before)
    }

    /// Reads what is at an offset.
    pub(super) fn read(&self, offset: u64) -> Read {
        if offset >= self.next {
            return Read::Nothing;
        }
        let first = self.pieces.front().map_or(self.next, |(offset, _, _)| *offset);
        if offset < first {
            return Read::Lost(first - offset, first);
        }
        let at = self.pieces.partition_point(|(start, _, piece)| start + piece.len() as u64 <= offset);
        let Some((start, stream, piece)) = self.pieces.get(at) else { return Read::Nothing };
        let skipped = usize::try_from(offset - start).unwrap_or(0);
        Read::Output(*stream, piece.slice(skipped..), start + piece.len() as u64)
    }

    /// Adds a client that follows from an offset, and returns its number.
    pub(super) fn add_follower(&mut self, offset: u64) -> u64 {
        self.last_follower += 1;
        self.followers.insert(self.last_follower, offset);
        self.last_follower
    }

    pub(super) fn has_read(&mut self, follower: u64, offset: u64) {
        self.followers.insert(follower, offset);
    }

    pub(super) fn remove_follower(&mut self, follower: u64) {
        self.followers.remove(&follower);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(pieces: &[&[u8]]) -> OutputLog {
        let mut log = OutputLog::default();
        pieces.iter().for_each(|piece| log.push(Stream::Output, Bytes::copy_from_slice(piece)));
        log
    }

    #[test]
    fn output_is_read_from_any_offset() {
        let log = log(&[b"abc", b"", b"defg"]);
        let output = |bytes: &'static [u8], next| Read::Output(Stream::Output, Bytes::from_static(bytes), next);
        for (offset, expected) in
            [(0, output(b"abc", 3)), (2, output(b"c", 3)), (3, output(b"defg", 7)), (6, output(b"g", 7))]
        {
            assert_eq!(log.read(offset), expected, "{offset}");
        }
        assert_eq!(log.read(7), Read::Nothing);
    }

    #[test]
    fn the_oldest_output_is_dropped_and_counted() {
        let half = vec![b'x'; 1 << 19];
        let mut log = log(&[&half, &half]);
        assert_eq!(log.read(0), Read::Output(Stream::Output, Bytes::copy_from_slice(&half), 1 << 19));
        let follower = log.add_follower(0);
        assert!(log.would_lose(1 << 19) && !log.would_lose(1), "a piece is dropped as a whole");
        log.has_read(follower, 1 << 20);
        assert!(!log.would_lose(1 << 19));
        log.push(Stream::Output, Bytes::copy_from_slice(&half));
        assert_eq!(log.read(0), Read::Lost(1 << 19, 1 << 19));
        log.remove_follower(follower);
        assert!(!log.would_lose(1 << 24), "without a client nothing waits");
    }
}
