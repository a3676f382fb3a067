//! Hashlines for Python programs: converts texts with the engine of the core.
//!
//! Invariant: messages are those of pydantic-ai-backend, word for word. The core's messages start with a path, which
//! does not exist here.

use std::fmt::Write;

use pyo3::{prelude::*, types::PyString};
use workden_core::{
    Error, VirtualPath,
    text::hashline::{self, HashlineEdit, Placement},
};

/// Texts from this size in bytes on are processed without the interpreter lock.
const LONG: usize = 64 * 1024;

/// Returns the hash of a line: two hexadecimal digits.
#[pyfunction]
pub(crate) fn line_hash(content: &str) -> String {
    hashline::line_hash(content)
}

/// Formats lines as `number:hash|line`, with a footer if lines are left.
#[pyfunction]
pub(crate) fn format_hashlines(py: Python<'_>, content: &str, offset: u64, limit: u64) -> String {
    apart(py, content, || format_lines(content, offset, limit))
}

/// Applies an edit. Returns the new text, or `None` if nothing changed; the error; the summary.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the arguments of the Python function")]
pub(crate) fn apply_hashline(
    py: Python<'_>,
    content: &str,
    start_line: i64,
    start_hash: String,
    new_content: String,
    end_line: Option<i64>,
    end_hash: Option<String>,
    placement: &str,
) -> (Option<Py<PyString>>, Option<String>, String) {
    let edit = HashlineEdit::new(or_zero(start_line), start_hash, new_content)
        .end_line(end_line.map(or_zero))
        .end_hash(end_hash)
        .placement(if placement == "insert_after" { Placement::InsertAfter } else { Placement::Replace });
    match apart(py, content, || hashline::apply(&VirtualPath::root(), content, &edit)) {
        Ok(outcome) => (Some(PyString::new(py, &outcome.text).unbind()), None, outcome.summary),
        Err(error) => (None, Some(said(&error, start_line, end_line)), String::new()),
    }
}

/// Runs a function without the interpreter lock, if the text is large.
fn apart<T: Send>(py: Python<'_>, content: &str, work: impl FnOnce() -> T + Send) -> T {
    if content.len() < LONG { work() } else { py.detach(work) }
}

/// A line number that never exists, for invalid numbers.
fn or_zero(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Returns the core's message without the path, and with the numbers as given.
fn said(error: &Error, start_line: i64, end_line: Option<i64>) -> String {
    let sentence = error.sentence();
    let bare = sentence.split_once("`: ").map_or(sentence, |(_, bare)| bare);
    match end_line {
        _ if start_line < 0 => bare.replacen("Line 0 ", &format!("Line {start_line} "), 1),
        Some(end) if end < 0 => bare.replacen("end_line (0)", &format!("end_line ({end})"), 1),
        _ => bare.to_owned(),
    }
}

fn format_lines(content: &str, offset: u64, limit: u64) -> String {
    let body = content.strip_suffix('\n').unwrap_or(content);
    let total = body.bytes().filter(|byte| *byte == b'\n').count() as u64 + 1;
    if offset >= total {
        return format!("Error: Offset {offset} exceeds file length ({total} lines)");
    }
    let end = offset.saturating_add(limit).min(total);
    let whole = limit >= total;
    let mut out = String::with_capacity(if whole { body.len() + body.len() / 2 } else { 4_096 });
    let skipped = usize::try_from(offset).unwrap_or(usize::MAX);
    for (number, line) in (offset + 1..=end).zip(body.split('\n').skip(skipped)) {
        if number > offset + 1 {
            out.push('\n');
        }
        let _ = write!(out, "{number}:{}|", hashline::line_hash(line));
        out.push_str(line);
    }
    if end < total {
        let _ = write!(out, "\n\n... ({} more lines)", total - end);
    }
    out
}
