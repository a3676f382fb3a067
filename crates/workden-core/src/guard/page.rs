//! Lines of a preview, up to a limit of lines and characters. Invisible characters are escaped, and what was left out is
//! told apart from the lines, where no content can forge it.

use std::fmt::Write as _;

use crate::escape;

/// What a call would change, for a person.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Preview {
    /// The lines.
    pub(super) text: String,
    /// What they leave out, in words: `2 lines`.
    pub(super) left_out: Option<String>,
}

impl Preview {
    /// Puts a line of our own before the lines.
    pub(super) fn after(self, told: &str) -> Self {
        Self { text: format!("{told}{}", self.text), ..self }
    }
}

/// Lines up to the limits; the remaining lines are counted.
pub(super) struct Page {
    text: String,
    lines: usize,
    chars: usize,
    left_out: usize,
    left_out_chars: usize,
    most_lines: usize,
    most_chars: usize,
}

impl Page {
    pub(super) fn new(most_lines: usize, most_chars: usize) -> Self {
        Self { text: String::new(), lines: 0, chars: 0, left_out: 0, left_out_chars: 0, most_lines, most_chars }
    }

    pub(super) fn line(&mut self, mark: &str, line: &str) {
        if self.lines >= self.most_lines || self.chars >= self.most_chars {
            self.left_out += 1;
            return;
        }
        let room = self.most_chars - self.chars;
        let (line, ends) = match line.strip_suffix('\n') {
            Some(line) => (line, true),
            None => (line, mark == "@@"),
        };
        self.lines += 1;
        self.text.push_str(mark);
        let mut shown = 0;
        for character in line.chars().take(room) {
            escape::spell(&mut self.text, character);
            shown += 1;
        }
        self.chars += shown + 1;
        let more = line.chars().count() - shown;
        self.left_out_chars += more;
        if more > 0 {
            let _ = write!(self.text, "... ({more} more characters)");
        }
        self.text.push('\n');
        if !ends {
            self.text.push_str("\\ No newline at end of file\n");
        }
    }

    pub(super) fn finish(mut self) -> Preview {
        match self.left_out {
            0 => {}
            1 => self.text.push_str("... (1 more line)\n"),
            more => {
                let _ = writeln!(self.text, "... ({more} more lines)");
            }
        }
        let counts = [(self.left_out, "line"), (self.left_out_chars, "character")];
        let left_out: Vec<String> =
            counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(count, what)).collect();
        Preview { text: self.text, left_out: (!left_out.is_empty()).then(|| left_out.join(" and ")) }
    }
}

/// Returns a number of things in words.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
