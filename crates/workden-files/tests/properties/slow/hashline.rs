//! Hashline edits on a list of lines.

use super::edit::{is_crlf, to_crlf};

/// What an edit comes to, as far as the lines are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The text after it.
    Edited(String),
    /// A line that is not there.
    OutOfRange,
    /// Arguments that contradict each other.
    Contradiction,
    /// A hash that does not fit.
    WrongHash,
}

/// An edit: `insert` adds after `start`, otherwise `start..=end` is replaced.
pub(crate) struct Edit<'a> {
    /// The first line, from 1.
    pub(crate) start: u64,
    /// Whether its hash fits.
    pub(crate) start_fits: &'a dyn Fn(&str) -> bool,
    /// The last line, if given.
    pub(crate) end: Option<u64>,
    /// Whether to insert.
    pub(crate) insert: bool,
    /// The new text.
    pub(crate) new: &'a str,
}

/// The lines of a text; a newline at its end makes no further line.
pub(crate) fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    if text.ends_with('\n') {
        lines.pop();
    }
    lines
}

/// Makes the edit.
pub(crate) fn apply(text: &str, edit: &Edit<'_>) -> Outcome {
    let mut lines = lines(text);
    let count = lines.len() as u64;
    if edit.start < 1 || edit.start > count {
        return Outcome::OutOfRange;
    }
    if edit.insert && edit.end.is_some() {
        return Outcome::Contradiction;
    }
    if !(edit.start_fits)(&lines[edit.start as usize - 1]) {
        return Outcome::WrongHash;
    }
    let end = edit.end.unwrap_or(edit.start);
    if end < edit.start {
        return Outcome::Contradiction;
    }
    if end > count {
        return Outcome::OutOfRange;
    }
    let new: Vec<String> = if edit.new.is_empty() { vec![] } else { edit.new.split('\n').map(str::to_owned).collect() };
    let mut at = edit.start as usize;
    if !edit.insert {
        at -= 1;
        for _ in edit.start..=end {
            lines.remove(at);
        }
    }
    let deleted_end = !edit.insert && new.is_empty() && at == lines.len();
    for line in new.into_iter().rev() {
        lines.insert(at, line);
    }
    let mut after = lines.join("\n");
    if text.ends_with('\n') {
        after.push('\n');
    }
    if is_crlf(text) {
        after = to_crlf(&after);
        if deleted_end && after.ends_with('\r') {
            after.pop();
        }
    }
    Outcome::Edited(after)
}
