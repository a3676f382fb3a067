//! What is shown of a change that cannot be compared as text: how large it is, and where it begins.
//!
//! Lines of a file have a mark before them, as in a diff; those without one are ours.

use std::fmt::Write as _;

use super::page::Page;

/// Lines of either side.
const MOST_LINES: usize = 40;
/// Bytes of either side.
const MOST_BYTES: usize = 2_000;
/// How far before the first difference its line may begin.
const LINE_BYTES: usize = 200;

/// The preview of a content that is not known yet.
pub(super) const PIECES: &str = "The content comes in pieces and cannot be shown.\n";

/// What is said of contents that are not text.
pub(super) fn not_text(before: usize, after: usize) -> String {
    format!("Not text: {}. Bytes that are not characters are spelled out.\n", sizes(before as u64, after as u64))
}

/// A content as text, with the bytes spelled out that are no characters.
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

/// Two contents that are too large to be compared, from where they begin to differ.
pub(super) fn of_difference(before: &[u8], after: &[u8]) -> String {
    let same = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    let line = before[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let from = line.max(same.saturating_sub(LINE_BYTES));
    let number = before[..line].iter().filter(|byte| **byte == b'\n').count() + 1;
    let sizes = sizes(before.len() as u64, after.len() as u64);
    let mut text = format!("Too large to compare: {sizes}. They differ from line {number} on, where they are:\n");
    text.push_str(&beginning("-", &before[from..]));
    text.push_str(&beginning("+", &after[from..]));
    text
}

/// A content that takes the place of one that is too large to be read.
pub(super) fn instead_of(before: Option<u64>, after: &[u8]) -> String {
    let sizes = sizes(before.unwrap_or(0), after.len() as u64);
    format!("Too large to compare: {sizes}. What comes begins with:\n") + &beginning("+", after)
}

fn beginning(mark: &str, content: &[u8]) -> String {
    let (shown, rest) = content.split_at(content.len().min(MOST_BYTES));
    let mut text = spelled(shown);
    if !rest.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    // Spelled out, a byte is four characters.
    let mut page = Page::new(MOST_LINES, MOST_BYTES * 4 + MOST_LINES);
    for line in text.split_inclusive('\n') {
        page.line(mark, line);
    }
    let mut text = page.finish();
    if !rest.is_empty() {
        let _ = writeln!(text, "... ({} more)", bytes(rest.len() as u64));
    }
    text
}

fn sizes(before: u64, after: u64) -> String {
    let of = |count: u64| if count == 0 { "nothing".to_owned() } else { bytes(count) };
    format!("{} before, {} after", of(before), of(after))
}

fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") }
}
