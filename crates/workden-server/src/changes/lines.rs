//! The hunks of a patch: what differs between two texts, line by line.
//!
//! Only `\n` ends a line, as for git: a lone carriage return is a character of the line.

use std::{fmt::Write as _, time::Instant};

use similar::{Algorithm, ChangeTag, TextDiff};

/// Lines around a change.
const CONTEXT: usize = 3;

/// Returns the hunks between two texts; empty if they are equal. After the deadline they are coarse.
pub(super) fn hunks(before: &str, after: &str, deadline: Instant) -> String {
    let (old, new) = (lines(before), lines(after));
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).deadline(deadline).diff_slices(&old, &new);
    let mut hunks = String::new();
    for group in diff.grouped_ops(CONTEXT) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (old, new) = (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        let _ = writeln!(hunks, "@@ -{} +{} @@", range(&old), range(&new));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            hunks.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            let line = change.value();
            hunks.push_str(line);
            if !line.ends_with('\n') {
                hunks.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    hunks
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Returns the lines of a hunk, as a patch counts them: an empty range is after the line that it names.
fn range(lines: &std::ops::Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn hunks_are_those_of_diff() {
        let hunks = |before: &str, after: &str| hunks(before, after, Instant::now() + Duration::from_secs(60));
        assert_eq!(hunks("a\n", "a\n"), "");
        assert_eq!(hunks("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(hunks("a\n", ""), "@@ -1 +0,0 @@\n-a\n");
        assert_eq!(
            hunks("a\nb", "a\nc"),
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
        );
        // A carriage return ends no line.
        assert_eq!(hunks("a\rb\n", "a\rc\n"), "@@ -1 +1 @@\n-a\rb\n+a\rc\n");
        assert_eq!(hunks("", "b\r"), "@@ -0,0 +1 @@\n+b\r\n\\ No newline at end of file\n");
    }
}
