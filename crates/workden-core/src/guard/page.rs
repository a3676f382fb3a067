//! Lines of a preview, up to a limit of lines and characters. Invisible characters are escaped.

use std::fmt::Write as _;

use crate::escape;

/// Lines up to the limits; the remaining lines are counted.
pub(super) struct Page {
    text: String,
    lines: usize,
    chars: usize,
    left_out: usize,
    most_lines: usize,
    most_chars: usize,
}

impl Page {
    pub(super) fn new(most_lines: usize, most_chars: usize) -> Self {
        Self { text: String::new(), lines: 0, chars: 0, left_out: 0, most_lines, most_chars }
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
        if more > 0 {
            let _ = write!(self.text, "... ({more} more characters)");
        }
        self.text.push('\n');
        if !ends {
            self.text.push_str("\\ No newline at end of file\n");
        }
    }

    pub(super) fn finish(mut self) -> String {
        match self.left_out {
            0 => {}
            1 => self.text.push_str("... (1 more line)\n"),
            more => {
                let _ = writeln!(self.text, "... ({more} more lines)");
            }
        }
        self.text
    }
}
