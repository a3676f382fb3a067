//! `Clipped`: the one shape in which text reaches a model. It is bounded while it streams: the
//! head and the tail are kept, and what lay between is counted, never held.

use std::{collections::VecDeque, fmt};

use serde::{Deserialize, Serialize};

/// Text that fits a ceiling, and how much was left out to make it fit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clipped {
    /// What is kept; where something was left out, a line in the middle says how much.
    pub text: String,
    /// How many characters were left out.
    pub left_out: u64,
}

impl Clipped {
    /// Clips a text that is already whole, keeping its head.
    #[must_use]
    pub fn head_of(text: &str, ceiling: usize) -> Self {
        let mut clipper = Clipper::new(ceiling, 0);
        clipper.push(text);
        clipper.finish()
    }
}

impl fmt::Display for Clipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Takes text of any length in pieces and keeps a head and a tail of it.
#[derive(Debug)]
pub struct Clipper {
    head: String,
    head_room: usize,
    tail: VecDeque<char>,
    tail_room: usize,
    left_out: u64,
}

impl Clipper {
    /// Keeps the first `head` and the last `tail` characters.
    #[must_use]
    pub fn new(head: usize, tail: usize) -> Self {
        Self { head: String::new(), head_room: head, tail: VecDeque::new(), tail_room: tail, left_out: 0 }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &str) {
        let taken = piece.char_indices().nth(self.head_room).map_or(piece.len(), |(at, _)| at);
        let (head, rest) = piece.split_at(taken);
        self.head.push_str(head);
        self.head_room -= head.chars().count();
        if rest.is_empty() {
            return;
        }
        let incoming = rest.chars().count();
        let overflow = (self.tail.len() + incoming).saturating_sub(self.tail_room);
        self.left_out += overflow as u64;
        let from_tail = overflow.min(self.tail.len());
        self.tail.drain(..from_tail);
        self.tail.extend(rest.chars().skip(overflow - from_tail));
    }

    /// The kept text, with a line where something is missing.
    #[must_use]
    pub fn finish(self) -> Clipped {
        let mut text = self.head;
        if self.left_out > 0 {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!("... ({} characters left out) ...", self.left_out));
            if !self.tail.is_empty() {
                text.push('\n');
            }
        }
        text.extend(self.tail);
        Clipped { text, left_out: self.left_out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(head: usize, tail: usize, pieces: &[&str]) -> Clipped {
        let mut clipper = Clipper::new(head, tail);
        for piece in pieces {
            clipper.push(piece);
        }
        clipper.finish()
    }

    #[test]
    fn what_fits_is_untouched() {
        for pieces in [&["héllo wörld"][..], &["héllo", " ", "wörld"], &["", "héllo wörld", ""]] {
            assert_eq!(clip(6, 5, pieces), Clipped { text: "héllo wörld".into(), left_out: 0 });
        }
    }

    #[test]
    fn head_and_tail_stay_and_the_middle_is_counted() {
        for pieces in
            [&["0123456789"][..], &["01", "2345", "6789"], &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]]
        {
            let clipped = clip(3, 2, pieces);
            assert_eq!(clipped.text, "012\n... (5 characters left out) ...\n89");
            assert_eq!(clipped.left_out, 5);
        }
    }

    #[test]
    fn a_flood_is_never_held() {
        let mut clipper = Clipper::new(10, 10);
        for _ in 0..10_000 {
            clipper.push("some more output\n");
        }
        assert!(clipper.tail.capacity() < 100);
        assert_eq!(clipper.finish().left_out, 10_000 * 17 - 20);
    }
}
