//! Numbered lines for a model: the line number right-aligned to six columns, a tab, the line.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::window::{Cut, Excerpt, Extent};
use crate::limits;

/// A numbered window of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Numbered {
    /// The numbered lines, and a footer if further lines follow. Empty for an empty file.
    pub text: String,
    /// How many lines were skipped.
    pub offset: u64,
    /// How many lines are shown.
    pub shown: u64,
    /// How many lines the file has.
    pub total: u64,
    /// Whether the limit of characters ended the window early.
    pub cut: Cut,
}

impl Numbered {
    /// Returns the number of lines after the window.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.total.saturating_sub(self.offset).saturating_sub(self.shown)
    }

    /// Returns the numbered lines alone, for a caller with a footer of its own.
    #[must_use]
    pub fn lines(&self) -> &str {
        self.text.strip_suffix(&footer(self)).unwrap_or(&self.text)
    }

    /// Numbers an excerpt of lines, within the limit of characters, which includes the numbers.
    #[must_use]
    pub fn of(excerpt: &Excerpt) -> Self {
        render(excerpt, |out, number, line| {
            let line = line.strip_suffix('\r').unwrap_or(line);
            let _ = write!(out, "{number:>6}\t{line}");
        })
    }
}

/// Renders each line of an excerpt with `show`, and adds the footer.
pub(super) fn render(excerpt: &Excerpt, show: impl Fn(&mut String, u64, &str)) -> Numbered {
    let (offset, total) = match excerpt.extent {
        Extent::Lines { offset, total, .. } => (offset, total),
        Extent::Chars { .. } => (0, super::scan::count_lines(excerpt.text.as_bytes())),
    };
    let ceiling = usize::try_from(limits::READ_CHARS).unwrap_or(usize::MAX);
    let mut text = String::with_capacity(excerpt.text.len() + excerpt.text.len() / 4);
    let mut chars = 0;
    let mut shown = 0;
    let mut cut = excerpt.cut;
    let body = excerpt.text.strip_suffix('\n').unwrap_or(&excerpt.text);
    let lines = (!excerpt.text.is_empty()).then(|| body.split('\n')).into_iter().flatten();
    for line in lines {
        let before = text.len();
        if shown > 0 {
            text.push('\n');
        }
        show(&mut text, offset + shown + 1, line);
        chars += text[before..].chars().count();
        if chars > ceiling && shown > 0 {
            text.truncate(before);
            cut = Cut::BetweenLines;
            break;
        }
        shown += 1;
    }
    let mut numbered = Numbered { text, offset, shown, total, cut };
    numbered.text.push_str(&footer(&numbered));
    numbered
}

fn footer(numbered: &Numbered) -> String {
    let next = numbered.offset + numbered.shown;
    match (numbered.cut, numbered.left()) {
        (Cut::No, 0) => String::new(),
        (Cut::No, left) => format!("\n\n... ({left} more lines)"),
        (Cut::BetweenLines, left) => {
            format!("\n\n... ({left} more lines; stopped at 200,000 characters, continue with offset={next})")
        }
        (Cut::InsideLine, left) => format!(
            "\n\n... (line {next} is longer than 200,000 characters and was cut; {left} more lines; read it in a window of characters, or use grep)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        VirtualPath,
        text::{TextWindow, scan},
    };

    fn numbered(content: &str, offset: u64, limit: u64) -> String {
        let path = VirtualPath::parse("/f").unwrap();
        Numbered::of(&scan::excerpt(&path, &content.as_bytes(), TextWindow::lines(offset, limit)).unwrap()).text
    }

    #[test]
    fn numbers_are_right_aligned_to_six_columns() {
        assert_eq!(numbered("a\nb\n", 0, 10), "     1\ta\n     2\tb");
        assert_eq!(numbered("a\r\nb", 0, 10), "     1\ta\n     2\tb");
        assert_eq!(numbered("a\n\n", 0, 10), "     1\ta\n     2\t");
        assert_eq!(numbered("", 0, 10), "");
    }

    #[test]
    fn a_footer_says_how_many_lines_are_left() {
        assert_eq!(numbered("a\nb\nc\n", 0, 1), "     1\ta\n\n... (2 more lines)");
        assert_eq!(numbered("a\nb\nc\n", 1, 2), "     2\tb\n     3\tc");
        assert_eq!(numbered("a\nb\n", 0, 0), "\n\n... (2 more lines)");
        let path = VirtualPath::parse("/f").unwrap();
        let excerpt = scan::excerpt(&path, &b"a\nb\n".as_slice(), TextWindow::lines(0, 1)).unwrap();
        assert_eq!(Numbered::of(&excerpt).lines(), "     1\ta");
    }

    #[test]
    fn past_the_ceiling_the_footer_says_how_to_go_on() {
        let content = "0123456789\n".repeat(30_000);
        let text = numbered(&content, 0, 30_000);
        assert!(text.chars().count() < 200_200);
        let (body, footer) = text.rsplit_once("\n\n... ").unwrap();
        let last: u64 = body.rsplit('\n').next().unwrap().trim_start().split('\t').next().unwrap().parse().unwrap();
        assert_eq!(
            footer,
            format!("({} more lines; stopped at 200,000 characters, continue with offset={last})", 30_000 - last)
        );
        let long = numbered(&"x".repeat(400_000), 0, 1);
        assert!(long.contains("line 1 is longer than 200,000 characters"), "{}", &long[200_000..]);
    }
}
