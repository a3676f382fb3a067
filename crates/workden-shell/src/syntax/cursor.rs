//! The position of the parser in the text, and its basic steps.
//!
//! Invariant: the position is always at the start of a character, because it only stops at ASCII characters. A
//! backslash before a newline counts as nothing, wherever the shell removes it.

use super::tree::PendingHereDocument;
use crate::budget::{Budget, Nesting, Rejection, quoted, syntax};

/// A parsed item, or the reason why the parser gives up.
pub(super) type Parsed<T> = Result<T, Rejection>;

/// How much of the remaining text an error shows.
const SHOWN: usize = 80;

pub(super) struct Parser<'text, 'budget> {
    pub(super) text: &'text str,
    pub(super) at: usize,
    pub(super) budget: &'budget mut Budget,
    /// Here-documents whose bodies start after this line.
    pub(super) pending: Vec<PendingHereDocument>,
    /// How many here-documents were read.
    pub(super) heredocs: usize,
    /// How many substitutions enclose the position.
    pub(super) substitutions: usize,
    /// Constructs that shells read differently; the next list to end takes them.
    pub(super) doubts: Vec<&'static str>,
}

impl<'text, 'budget> Parser<'text, 'budget> {
    pub(super) fn new(text: &'text str, budget: &'budget mut Budget) -> Self {
        Self { text, at: 0, budget, pending: Vec::new(), heredocs: 0, substitutions: 0, doubts: Vec::new() }
    }

    /// Returns the byte at the position.
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Returns the byte `count` bytes after the position.
    pub(super) fn peek_after(&self, count: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + count).copied()
    }

    /// Returns the remaining text.
    pub(super) fn rest(&self) -> &'text str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Returns the text from `start` to the position.
    pub(super) fn since(&self, start: usize) -> &'text str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Returns the error for unexpected text at the position.
    pub(super) fn unexpected<T>(&self, wanted: &str) -> Parsed<T> {
        let rest = self.rest();
        let end = rest.char_indices().map(|(at, _)| at).find(|at| *at >= SHOWN).unwrap_or(rest.len());
        let shown = rest.get(..end).unwrap_or_default();
        Err(syntax(if shown.is_empty() {
            format!("unexpected end of script: expected {wanted}")
        } else {
            format!("expected {wanted} at {}", quoted(shown))
        }))
    }

    /// Skips joined lines (a backslash before a newline).
    pub(super) fn skip_joins(&mut self) {
        while self.peek() == Some(b'\\') && self.peek_after(1) == Some(b'\n') {
            self.at += 2;
        }
    }

    /// Consumes this byte, if it is next, and line joins after it.
    pub(super) fn take(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
            self.skip_joins();
        }
        found
    }

    /// Skips to the start of the next token on this line.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_after(1) == Some(b'\n') => self.at += 2,
                Some(b'#') => {
                    if self.substitutions > 0 {
                        self.doubts.push("a comment in a substitution, which old shells search for quotes");
                    }
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    /// Skips to the start of the next token on any line.
    pub(super) fn skip_lines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.at += 1;
            self.read_heredocs()?;
        }
    }

    /// Calls `inner` one level deeper.
    pub(super) fn nested<T>(&mut self, level: Nesting, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.budget.enter(level)?;
        let outcome = inner(self)?;
        self.budget.leave(level);
        Ok(outcome)
    }

    /// Checks that the text has ended, and nothing is missing.
    pub(super) fn finish(&mut self) -> Parsed<()> {
        self.skip_lines()?;
        if self.at < self.text.len() {
            return self.unexpected("a command");
        }
        if self.pending.is_empty() { Ok(()) } else { Err(syntax("unterminated here-document")) }
    }
}
