//! Excerpts of changes that cannot be compared as text: the sizes, and the start of the difference.
//!
//! Lines of a file have a mark in front, as in a diff; lines without a mark are workden's.

use std::fmt::Write as _;

use super::page::{Page, Preview};

/// Lines shown of each side.
const MOST_LINES: usize = 40;
/// Bytes shown of each side.
const MOST_BYTES: usize = 2_000;
/// Bytes shown before the first difference, at most, to start at the beginning of its line.
const LINE_BYTES: usize = 200;

/// Returns the preview of streamed content.
pub(super) fn pieces() -> Preview {
    let text = "The content comes in pieces and cannot be shown.\n".to_owned();
    Preview { text, left_out: Some("all of it".to_owned()) }
}

/// Returns the note about content that is not text.
pub(super) fn not_text(before: usize, after: usize) -> String {
    format!("Not text: {}. Bytes that are not characters are spelled out.\n", sizes(before as u64, after as u64))
}

/// Returns content as text, with invalid bytes escaped.
pub(super) fn spelled(content: &[u8]) -> String {
    let mut text = String::with_capacity(content.len());
    for chunk in content.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Shows two contents that are too large to compare, from their first difference.
pub(super) fn of_difference(before: &[u8], after: &[u8]) -> Preview {
    let same = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let line = before[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let from = line.max(same.saturating_sub(LINE_BYTES));
    let number = before[..line].iter().filter(|byte| **byte == b'\n').count() + 1;
    let sizes = sizes(before.len() as u64, after.len() as u64);
    let told = format!("Too large to compare: {sizes}. They differ from line {number} on, where they are:\n");
    let came = beginning("+", &after[from..]);
    // What comes counts; what goes is known.
    came.after(&beginning("-", &before[from..]).text).after(&told)
}

/// Shows the content that replaces one that is too large to read.
pub(super) fn instead_of(before: Option<u64>, after: &[u8]) -> Preview {
    let sizes = sizes(before.unwrap_or(0), after.len() as u64);
    beginning("+", after).after(&format!("Too large to compare: {sizes}. What comes begins with:\n"))
}

fn beginning(mark: &str, content: &[u8]) -> Preview {
    let (shown, rest) = content.split_at(content.len().min(MOST_BYTES));
    let mut text = spelled(shown);
    if !rest.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    // An escaped byte takes four characters.
    let mut page = Page::new(MOST_LINES, MOST_BYTES * 4 + MOST_LINES);
    for line in text.split_inclusive('\n') {
        page.line(mark, line);
    }
    let mut preview = page.finish();
    if !rest.is_empty() {
        let more = bytes(rest.len() as u64);
        let _ = writeln!(preview.text, "... ({more} more)");
        preview.left_out = Some(preview.left_out.map_or(more.clone(), |left_out| format!("{left_out} and {more}")));
    }
    preview
}

fn sizes(before: u64, after: u64) -> String {
    let of = |count: u64| if count == 0 { "nothing".to_owned() } else { bytes(count) };
    format!("{} before, {} after", of(before), of(after))
}

fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}
