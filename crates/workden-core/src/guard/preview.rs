//! Previews of changes: a unified diff for a person, of bounded length and cost.
//!
//! The cost is bounded before the diff is computed: equal lines at both ends are set aside, and the lines between them
//! are compared only if they are few. Invisible characters are escaped. A preview is never empty: content that cannot
//! be compared as text is described in a sentence.

use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

use super::{
    excerpt,
    page::{Page, Preview},
};
use crate::{Attributes, VirtualPath, text::encoding::decode_losslessly};

/// Lines of a preview.
const MOST_LINES: usize = 200;
/// Characters of a preview.
const MOST_CHARS: usize = 20_000;
/// Larger contents are not compared.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// If more lines than this lie between the first and the last change, they are shown as replaced as a whole.
const COMPARED_LINES: usize = 4_000;
/// Lines around a change.
const CONTEXT_LINES: usize = 3;

/// Characters of a preview of content that is not text: a longer preview would not help a reader.
const MOST_CHARS_OF_OTHER: usize = 4_000;

/// Returns the difference between two contents of a file.
pub(super) fn diff(path: &VirtualPath, before: &[u8], after: &[u8]) -> Preview {
    if before.len() > MOST_BYTES || after.len() > MOST_BYTES {
        return excerpt::of_difference(before, after);
    }
    let text = |content: &[u8]| match content {
        [] => Some(String::new()),
        content => decode_losslessly("show", path, content).ok().map(|(_, text)| text),
    };
    match (text(before), text(after)) {
        (Some(before), Some(after)) => lines(&before, &after, Page::new(MOST_LINES, MOST_CHARS)),
        // Most of the content may be text: a shell runs a script with a NUL in it.
        _ => {
            let told = excerpt::not_text(before.len(), after.len());
            let (before, after) = (excerpt::spelled(before), excerpt::spelled(after));
            lines(&before, &after, Page::new(MOST_LINES, MOST_CHARS_OF_OTHER)).after(&told)
        }
    }
}

/// Returns the attributes to set, a line each.
pub(super) fn attributes(attributes: &Attributes) -> Preview {
    let mut page = Page::new(MOST_LINES, MOST_CHARS);
    for (name, value) in attributes.iter() {
        page.line("+", &format!("{}{name}: {value}\n", attributes.prefix()));
    }
    page.finish()
}

fn lines(before: &str, after: &str, mut page: Page) -> Preview {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    for hunk in group_diff_ops(compare(&old, &new), CONTEXT_LINES) {
        write_hunk(&mut page, &hunk, &old, &new);
    }
    page.finish()
}

/// Returns the differences in order, including the equal lines.
fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (rest_old, rest_new) = (&old[head..], &new[head..]);
    let tail = rest_old.iter().rev().zip(rest_new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (mid_old, mid_new) = (&rest_old[..rest_old.len() - tail], &rest_new[..rest_new.len() - tail]);
    let mut ops = vec![DiffOp::Equal { old_index: 0, new_index: 0, len: head }];
    if mid_old.len() + mid_new.len() > COMPARED_LINES {
        let (old_len, new_len) = (mid_old.len(), mid_new.len());
        ops.push(DiffOp::Replace { old_index: head, old_len, new_index: head, new_len });
    } else {
        ops.extend(capture_diff_slices(Algorithm::Myers, mid_old, mid_new).into_iter().map(|op| shifted(op, head)));
    }
    ops.push(DiffOp::Equal { old_index: old.len() - tail, new_index: new.len() - tail, len: tail });
    ops.retain(|op| !matches!(op, DiffOp::Equal { len: 0, .. }));
    ops
}

fn shifted(op: DiffOp, by: usize) -> DiffOp {
    let (old, new) = (op.old_range(), op.new_range());
    let (old_index, new_index) = (old.start + by, new.start + by);
    match op {
        DiffOp::Equal { len, .. } => DiffOp::Equal { old_index, new_index, len },
        DiffOp::Delete { old_len, .. } => DiffOp::Delete { old_index, old_len, new_index },
        DiffOp::Insert { new_len, .. } => DiffOp::Insert { old_index, new_index, new_len },
        DiffOp::Replace { old_len, new_len, .. } => DiffOp::Replace { old_index, old_len, new_index, new_len },
    }
}

/// Appends one hunk of a diff to a page.
fn write_hunk(page: &mut Page, ops: &[DiffOp], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
    let range = |start: usize, end: usize| match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    };
    let of_old = range(first.old_range().start, last.old_range().end);
    let of_new = range(first.new_range().start, last.new_range().end);
    page.line("@@", &format!(" -{of_old} +{of_new} @@"));
    for op in ops {
        let equal = matches!(op, DiffOp::Equal { .. });
        let (gone, came) = (&old[op.old_range()], &new[op.new_range()]);
        for line in gone {
            page.line(if equal { " " } else { "-" }, line);
        }
        for line in came.iter().filter(|_| !equal) {
            page.line("+", line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        diff(&VirtualPath::root(), before.as_bytes(), after.as_bytes()).text
    }

    #[test]
    fn what_is_left_out_is_told_apart_from_the_lines() {
        let left_out = |after: &str| diff(&VirtualPath::root(), b"", after.as_bytes()).left_out;
        assert_eq!(left_out("a\n... (99 more lines)\n"), None);
        assert_eq!(left_out(&"x\n".repeat(3_001)).as_deref(), Some("2802 lines"));
        assert_eq!(left_out(&"x".repeat(20_001)).as_deref(), Some("13 characters"));
        let large = vec![b'#'; MOST_BYTES + 1];
        assert_eq!(diff(&VirtualPath::root(), b"", &large).left_out.as_deref(), Some("4192305 bytes"));
        assert_eq!(excerpt::pieces().left_out.as_deref(), Some("all of it"));
    }

    #[test]
    fn a_change_is_shown_as_diff_does() {
        let before: String = (1..=20).map(|line| format!("line {line}\n")).collect();
        let after = before.replace("line 10\n", "LINE 10\nmore\n");
        assert_eq!(
            shown(&before, &after),
            "@@ -7,7 +7,8 @@\n line 7\n line 8\n line 9\n-line 10\n+LINE 10\n+more\n line 11\n line 12\n line 13\n"
        );
        assert_eq!(shown("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(shown("a\nb", "a\n"), "@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n");
        assert_eq!(shown("same\n", "same\n"), "");
    }

    #[test]
    fn it_is_bounded_in_lines_characters_and_time() {
        let lines = |word: &str, count: usize| (0..count).map(|n| format!("{word} {n}\n")).collect::<String>();
        let many = shown(&lines("old", 50_000), &lines("new", 50_000));
        assert_eq!(many.lines().count(), MOST_LINES + 1);
        assert!(many.ends_with("... (99801 more lines)\n"), "{}", &many[many.len() - 60..]);
        let long = shown("", &"x".repeat(1_000_000));
        assert!(long.len() < MOST_CHARS + 200 && long.contains("more characters)"), "{}", long.len());
        let other = diff(&VirtualPath::root(), b"", &[0xff, 0].repeat(100_000)).text;
        assert!(other.len() < MOST_CHARS && other.contains("more characters)"), "{}", other.len());
    }

    #[test]
    fn nothing_switches_it_off() {
        let of = |before: &[u8], after: &[u8]| diff(&VirtualPath::root(), before, after).text;
        assert_eq!(
            of(b"", b"#!/bin/sh\nevil\n# \0\n"),
            "Not text: nothing before, 19 bytes after. Bytes that are not characters are spelled out.\n\
             @@ -0,0 +1,3 @@\n+#!/bin/sh\n+evil\n+# \\u{0}\n"
        );
        assert_eq!(
            of(b"a\n\0\n", b"b\n\0\xff\n"),
            "Not text: 4 bytes before, 5 bytes after. Bytes that are not characters are spelled out.\n\
             @@ -1,2 +1,2 @@\n-a\n-\\u{0}\n+b\n+\\u{0}\\xff\n"
        );
        let padding = b"#\n".repeat(MOST_BYTES / 2);
        let padded = [b"#!/bin/sh\nevil\n", padding.as_slice()].concat();
        let shown = of(b"", &padded);
        assert!(shown.starts_with("Too large to compare: nothing before, 4194319 bytes after."), "{shown}");
        assert!(shown.contains("\n+evil\n") && shown.lines().count() < 100, "{shown}");
        let changed = [padding.as_slice(), b"evil\n"].concat();
        let shown = of(&padding, &changed);
        assert!(shown.contains("from line 2097153 on") && shown.ends_with("\n+evil\n"), "{shown}");
    }

    #[test]
    fn nothing_in_it_moves_a_cursor() {
        assert_eq!(shown("", "\u{1b}[2Ka\rb\u{202e}c\n"), "@@ -0,0 +1 @@\n+\\u{1b}[2Ka\\rb\\u{202e}c\n");
    }
}
