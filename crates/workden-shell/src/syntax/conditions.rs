//! `[[ ... ]]`.
//!
//! Invariant: it is read as words and operators up to `]]`. What would be a command or a redirection
//! to a shell that does not know `[[`, and what evaluates text as arithmetic, leaves a doubt.

use super::{Compound, Parsed, Part, Word, cursor::Parser, words::Place};

/// Operators whose sides are arithmetic, in which a subscript can hold a command.
const ARITHMETIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
/// Operators that take a variable, whose subscript can hold a command.
const VARIABLE: &[&str] = &["-v", "-R"];

impl Parser<'_, '_> {
    /// Reads the rest of a test.
    pub(super) fn test(&mut self) -> Parsed<Compound> {
        let mut words: Vec<Word> = Vec::new();
        let mut place = Place::Argument;
        let mut after_join = false;
        loop {
            let before = self.at;
            self.skip_lines()?;
            after_join |= self.since(before).contains('\n');
            match self.peek() {
                Some(byte @ (b'&' | b'|')) if place == Place::Argument && self.operator_after() == Some(byte) => {
                    self.budget.token()?;
                    self.take(byte);
                    self.take(byte);
                    after_join = true;
                    continue;
                }
                Some(byte @ (b'(' | b')' | b'<' | b'>'))
                    if place == Place::Argument && (byte < b'<' || self.operator_after() != Some(b'(')) =>
                {
                    self.budget.token()?;
                    self.at += 1;
                    self.doubts.push("an operator in `[[ ]]` that sh takes for one of its own");
                    continue;
                }
                _ => {}
            }
            let Some(word) = self.word(place)? else { return self.unexpected("`]]`") };
            let text = word.plain().unwrap_or_default();
            if text == "]]" && place == Place::Argument {
                return Ok(Compound::Test(words));
            }
            if place == Place::TestRegex && word.parts.iter().any(has_pipe) {
                self.doubts.push("an operator in `[[ ]]` that sh takes for one of its own");
            }
            if after_join && !text.starts_with('-') && text != "!" {
                self.doubts.push("a word in `[[ ]]` that sh takes for a command");
            }
            if ARITHMETIC.contains(&text) || VARIABLE.contains(&text) {
                self.doubts.push("arithmetic or a variable by name in `[[ ]]`");
            }
            after_join = false;
            place = match text {
                "==" | "=" | "!=" if !words.is_empty() => Place::TestPattern,
                "=~" if !words.is_empty() => Place::TestRegex,
                _ => Place::Argument,
            };
            words.push(word);
        }
    }
}

fn has_pipe(part: &Part) -> bool {
    matches!(part, Part::Plain(text) if text.contains('|'))
}
