//! Hashline edits: lines are named by number and a two-digit hash, so that a stale number is detected. The format, the
//! order of checks and the messages follow the reference implementation.

use std::fmt::Write;

use md5::{Digest, Md5};
use serde::{Deserialize, Serialize};

use super::{
    edit::{has_only_crlf, with_crlf},
    numbered::{Numbered, render},
    window::Excerpt,
};
use crate::{Error, ErrorKind, Result, VirtualPath, setters::setters};

/// Returns the hash of a line: the first two hexadecimal digits of its MD5. It detects mistakes, not attacks.
#[must_use]
pub fn line_hash(line: &str) -> String {
    format!("{:02x}", Md5::digest(line.as_bytes())[0])
}

/// Formats an excerpt as `number:hash|line`, with the footer of a numbered read.
#[must_use]
pub fn format(excerpt: &Excerpt) -> Numbered {
    let mut shown = render(excerpt, |out, number, line| {
        let _ = write!(out, "{number}:{}|{line}", line_hash(line));
    });
    if shown.total == 0 {
        // An empty file has a first line to edit, and an edit must be able to name its hash.
        shown.text = format!("1:{}|", line_hash(""));
    }
    shown
}

/// One edit by line number and hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HashlineEdit {
    /// The first line, from 1.
    pub start_line: u64,
    /// The hash of the first line.
    pub start_hash: String,
    /// The new lines; empty to delete.
    pub new_content: String,
    /// The last line, for a range of lines.
    #[serde(default)]
    pub end_line: Option<u64>,
    /// The hash of the last line, to check it.
    #[serde(default)]
    pub end_hash: Option<String>,
    /// The hashes of all lines of the range, including the first and the last, to check them.
    #[serde(default)]
    pub range_hashes: Option<Vec<String>>,
    /// Whether to replace the lines or to insert after the first.
    #[serde(default)]
    pub placement: Placement,
}

impl HashlineEdit {
    /// Creates an edit that replaces the line `start_line` with the hash `start_hash` by `new_content`.
    #[must_use]
    pub fn new(start_line: u64, start_hash: impl Into<String>, new_content: impl Into<String>) -> Self {
        Self {
            start_line,
            start_hash: start_hash.into(),
            new_content: new_content.into(),
            end_line: None,
            end_hash: None,
            range_hashes: None,
            placement: Placement::Replace,
        }
    }

    setters! {
        /// Sets the last line of the range; `None` for one line.
        end_line: impl Into<Option<u64>>,
        /// Sets the hash that the last line must have; `None` for any.
        end_hash: impl Into<Option<String>>,
        /// Sets the hashes that the lines of the range must have, first and last included; `None` for any.
        range_hashes: impl Into<Option<Vec<String>>>,
        /// Sets whether to replace the lines or to insert after the first.
        placement: Placement,
    }
}

/// Where the new lines go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In place of the range.
    #[default]
    Replace,
    /// After the first line, which stays.
    InsertAfter,
}

/// The result of a hashline edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashlineOutcome {
    /// The text after the edit.
    pub text: String,
    /// A short summary.
    pub summary: String,
}

/// Applies an edit to a text.
///
/// # Errors
///
/// Returns `OutOfRange` if a line does not exist, `Conflict` if a hash does not match, and `InvalidArgument` if the
/// arguments contradict each other.
pub fn apply(path: &VirtualPath, before: &str, edit: &HashlineEdit) -> Result<HashlineOutcome> {
    let (body, newline) = match before.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (before, ""),
    };
    let mut lines: Vec<&str> = body.split('\n').collect();
    let (start, end) = check(path, &lines, edit)?;

    let new: Vec<&str> = if edit.new_content.is_empty() { Vec::new() } else { edit.new_content.split('\n').collect() };
    let added = new.len();
    let summary = match (edit.placement, end - start, added) {
        (Placement::InsertAfter, _, added) => format!("Inserted {added} line(s) after line {}", edit.start_line),
        (Placement::Replace, removed, 0) => format!("Deleted {removed} line(s) at line {}", edit.start_line),
        (Placement::Replace, removed, added) if removed == added => {
            format!("Replaced {removed} line(s) at line {}", edit.start_line)
        }
        (Placement::Replace, removed, added) => {
            format!("Replaced {removed} line(s) with {added} line(s) at line {}", edit.start_line)
        }
    };
    let range = match edit.placement {
        Placement::InsertAfter => start + 1..start + 1,
        Placement::Replace => start..end,
    };
    let lost_the_end = newline.is_empty() && added == 0 && range.end == lines.len() && !range.is_empty();
    lines.splice(range, new);
    let mut text = lines.join("\n") + newline;
    if lost_the_end && has_only_crlf(before.as_bytes()) && text.ends_with('\r') {
        // The `\r` of the line that is now last was part of a CRLF ending, not of the line.
        text.pop();
    }
    // New lines in a file with CRLF endings get CRLF endings.
    let text = if has_only_crlf(before.as_bytes()) { with_crlf(&text) } else { text };
    Ok(HashlineOutcome { text, summary })
}

/// Makes every check in the order of the reference implementation; returns the range as indices.
fn check(path: &VirtualPath, lines: &[&str], edit: &HashlineEdit) -> Result<(usize, usize)> {
    let count = lines.len();
    let refuse = |kind, why: String| {
        let hint = match kind {
            ErrorKind::OutOfRange => "lines count from 1; read the lines again as hashlines",
            _ => "lines count from 1; a range has its first and last line, an insertion only the line before it",
        };
        Err(Error::new(kind, format!("cannot edit `{path}`: {why}")).hint(hint))
    };
    let index = |line: u64| usize::try_from(line).ok().and_then(|line| line.checked_sub(1)).filter(|at| *at < count);

    let Some(start) = index(edit.start_line) else {
        return refuse(
            ErrorKind::OutOfRange,
            format!("Line {} out of range (file has {count} lines)", edit.start_line),
        );
    };
    let names_an_end = edit.end_line.is_some() || edit.end_hash.is_some();
    if edit.placement == Placement::InsertAfter && names_an_end {
        return refuse(ErrorKind::InvalidArgument, "end_line/end_hash cannot be combined with insert_after".to_owned());
    }
    check_hash(path, lines, start, &edit.start_hash)?;
    let last = match edit.end_line {
        None => start,
        Some(end) if end < edit.start_line => {
            return refuse(
                ErrorKind::InvalidArgument,
                format!("end_line ({end}) must be >= start_line ({})", edit.start_line),
            );
        }
        Some(end) => match index(end) {
            Some(last) => last,
            None => {
                return refuse(ErrorKind::OutOfRange, format!("End line {end} out of range (file has {count} lines)"));
            }
        },
    };
    if let (Some(_), Some(hash)) = (edit.end_line, &edit.end_hash) {
        check_hash(path, lines, last, hash)?;
    }
    if let Some(hashes) = &edit.range_hashes {
        if hashes.len() != last - start + 1 {
            return refuse(
                ErrorKind::InvalidArgument,
                format!("{} hashes were given for {} lines", hashes.len(), last - start + 1),
            );
        }
        for (at, hash) in (start..).zip(hashes) {
            check_hash(path, lines, at, hash)?;
        }
    }
    Ok((start, last + 1))
}

fn check_hash(path: &VirtualPath, lines: &[&str], at: usize, given: &str) -> Result<()> {
    let actual = line_hash(lines[at]);
    if actual == given {
        return Ok(());
    }
    let given: String = given.chars().take(20).collect();
    Err(Error::new(
        ErrorKind::Conflict,
        format!(
            "cannot edit `{path}`: Hash mismatch at line {}: expected '{given}', got '{actual}'. File may have changed \u{2014} re-read it first.",
            at + 1
        ),
    )
    .hint("read the lines again as hashlines"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{TextWindow, scan};

    fn edit(start_line: u64, hash_of: &str, new: &str) -> HashlineEdit {
        HashlineEdit::new(start_line, line_hash(hash_of), new)
    }

    fn run(text: &str, edit: &HashlineEdit) -> Result<(String, String)> {
        apply(&VirtualPath::parse("/f").unwrap(), text, edit).map(|outcome| (outcome.text, outcome.summary))
    }

    fn check_ok(text: &str, edit: &HashlineEdit, expected: &str, summary: &str) {
        assert_eq!(run(text, edit).unwrap(), (expected.to_owned(), summary.to_owned()));
    }

    fn check_err(text: &str, edit: &HashlineEdit, message: &str) {
        let error = run(text, edit).unwrap_err();
        assert!(error.sentence().contains(message), "{error}");
    }

    #[test]
    fn hashes_are_those_of_the_reference() {
        assert_eq!((line_hash("").as_str(), line_hash("a").as_str(), line_hash("é").as_str()), ("d4", "0c", "66"));
    }

    #[test]
    fn lines_are_shown_with_number_and_hash() {
        let path = VirtualPath::parse("/f").unwrap();
        let show = |content: &str, limit| {
            format(&scan::excerpt(&path, &content.as_bytes(), TextWindow::lines(0, limit)).unwrap()).text
        };
        assert_eq!(show("a\n\nb\n", 10), "1:0c|a\n2:d4|\n3:92|b");
        assert_eq!(show("", 10), "1:d4|");
        assert_eq!(show("a\nb\n", 1), "1:0c|a\n\n... (1 more lines)");
    }

    #[test]
    fn replace_insert_and_delete() {
        check_ok("a\nb\nc\n", &edit(2, "b", "B"), "a\nB\nc\n", "Replaced 1 line(s) at line 2");
        check_ok("a\nb\nc", &edit(3, "c", "x\ny"), "a\nb\nx\ny", "Replaced 1 line(s) with 2 line(s) at line 3");
        check_ok("a\nb\nc\n", &edit(2, "b", ""), "a\nc\n", "Deleted 1 line(s) at line 2");
        check_ok("a\n", &edit(1, "a", ""), "\n", "Deleted 1 line(s) at line 1");
        let insert = edit(1, "a", "x").placement(Placement::InsertAfter);
        check_ok("a\nb\n", &insert, "a\nx\nb\n", "Inserted 1 line(s) after line 1");
        let range = edit(1, "a", "z").end_line(3);
        check_ok("a\nb\nc\nd\n", &range, "z\nd\n", "Replaced 3 line(s) with 1 line(s) at line 1");
    }

    #[test]
    fn a_trailing_newline_in_the_new_text_is_an_empty_line() {
        check_ok("a\nb\n", &edit(1, "a", "x\n"), "x\n\nb\n", "Replaced 1 line(s) with 2 line(s) at line 1");
    }

    #[test]
    fn a_file_of_crlf_lines_stays_one() {
        check_ok("a\r\nb", &edit(2, "b", "x\ny"), "a\r\nx\r\ny", "Replaced 1 line(s) with 2 line(s) at line 2");
        check_ok(
            "a\r\nb\r\n",
            &edit(1, "a\r", "x\ny"),
            "x\r\ny\r\nb\r\n",
            "Replaced 1 line(s) with 2 line(s) at line 1",
        );
    }

    #[test]
    fn deleting_the_last_line_of_a_crlf_file_leaves_no_lone_carriage_return() {
        check_ok("a\r\nb", &edit(2, "b", ""), "a", "Deleted 1 line(s) at line 2");
        check_ok("a\r\nb\r\n", &edit(2, "b\r", ""), "a\r\n", "Deleted 1 line(s) at line 2");
        check_ok("a\rb\nc", &edit(2, "c", ""), "a\rb", "Deleted 1 line(s) at line 2");
    }

    #[test]
    fn checks_come_in_the_order_of_the_reference() {
        check_err("a\n", &edit(2, "a", ""), "Line 2 out of range (file has 1 lines)");
        check_err("a\n", &edit(0, "a", ""), "Line 0 out of range (file has 1 lines)");
        let both = edit(1, "wrong", "").placement(Placement::InsertAfter).end_line(1);
        check_err("a\n", &both, "end_line/end_hash cannot be combined with insert_after");
        check_err(
            "a\n",
            &edit(1, "b", ""),
            "Hash mismatch at line 1: expected '92', got '0c'. File may have changed \u{2014} re-read it first.",
        );
        let backwards = edit(2, "b", "").end_line(1);
        check_err("a\nb\n", &backwards, "end_line (1) must be >= start_line (2)");
        let beyond = edit(1, "a", "").end_line(9);
        check_err("a\nb\n", &beyond, "End line 9 out of range (file has 2 lines)");
        let wrong_end = edit(1, "a", "").end_line(2).end_hash("zz".to_owned());
        check_err("a\nb\n", &wrong_end, "Hash mismatch at line 2: expected 'zz', got '92'");
    }

    #[test]
    fn every_line_of_a_range_is_verified_when_hashes_are_given() {
        let hashes = |lines: &[&str]| Some(lines.iter().map(|line| line_hash(line)).collect());
        let range = |given| edit(1, "a", "z").end_line(3).range_hashes(given);
        assert!(run("a\nb\nc\n", &range(hashes(&["a", "b", "c"]))).is_ok());
        check_err("a\nb\nc\n", &range(hashes(&["a", "X", "c"])), "Hash mismatch at line 2");
        check_err("a\nb\nc\n", &range(hashes(&["a", "c"])), "2 hashes were given for 3 lines");
    }
}
