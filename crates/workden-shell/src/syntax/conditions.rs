//! `[[ ... ]]`.
//!
//! Invariant: the test is read as words and operators up to `]]`. Arithmetic is a doubt, and so are operators that a
//! shell without `[[` would read as a command or a redirection.

use super::{
    cursor::{Parsed, Parser},
    modes::WordContext,
    tree::{Compound, RawWord, WordPart},
};

/// Operators with arithmetic operands, in which a subscript can contain a command.
const ARITHMETIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
/// Other binary operators.
const BINARY: &[&str] = &["=", "==", "!=", "=~", "-nt", "-ot", "-ef"];
/// Operators that take a variable, whose subscript can contain a command.
const VARIABLE: &[&str] = &["-v", "-R"];

impl Parser<'_, '_> {
    /// Reads the rest of a test.
    pub(super) fn test(&mut self) -> Parsed<Compound> {
        let mut words: Vec<RawWord> = Vec::new();
        let mut place = WordContext::Argument;
        let mut after_join = false;
        // The start of the current comparison.
        let mut start = 0;
        loop {
            let before = self.at;
            self.skip_lines()?;
            after_join |= self.since(before).contains('\n');
            match self.peek() {
                Some(byte @ (b'&' | b'|')) if place == WordContext::Argument && self.operator_after() == Some(byte) => {
                    self.budget.token()?;
                    self.take(byte);
                    self.take(byte);
                    self.comparison(words.get(start..).unwrap_or_default());
                    start = words.len();
                    after_join = true;
                    continue;
                }
                Some(byte @ (b'(' | b')' | b'<' | b'>'))
                    if place == WordContext::Argument && (byte < b'<' || self.operator_after() != Some(b'(')) =>
                {
                    self.budget.token()?;
                    self.at += 1;
                    self.doubts.push("an operator in `[[ ]]` that sh reads as one of its own");
                    continue;
                }
                _ => {}
            }
            let Some(word) = self.word(place)? else { return self.unexpected("`]]`") };
            let text = word.plain().unwrap_or_default();
            if text == "]]" && place == WordContext::Argument {
                self.comparison(words.get(start..).unwrap_or_default());
                return Ok(Compound::Test(words));
            }
            if place == WordContext::TestRegex && word.parts.iter().any(has_pipe) {
                self.doubts.push("an operator in `[[ ]]` that sh reads as one of its own");
            }
            if after_join && !text.starts_with('-') && text != "!" {
                self.doubts.push("a word in `[[ ]]` that sh reads as a command");
            }
            if ARITHMETIC.contains(&text) || VARIABLE.contains(&text) {
                self.doubts.push("arithmetic or a variable name in `[[ ]]`");
            }
            after_join = false;
            place = match text {
                "==" | "=" | "!=" if !words.is_empty() => WordContext::TestPattern,
                "=~" if !words.is_empty() => WordContext::TestRegex,
                _ => WordContext::Argument,
            };
            words.push(word);
        }
    }

    /// Adds a doubt for anything but `word`, `-op word` and `word op word`, each with any number of `!` before it.
    fn comparison(&mut self, words: &[RawWord]) {
        let plain = |word: &RawWord| word.plain().unwrap_or_default().to_owned();
        let negations = words.iter().take_while(|word| word.plain() == Some("!")).count();
        let is_valid = match words.get(negations..).unwrap_or_default() {
            [word] => !is_unary(&plain(word)),
            [operator, _] => is_unary(&plain(operator)),
            [_, operator, _] => {
                BINARY.contains(&plain(operator).as_str()) || ARITHMETIC.contains(&plain(operator).as_str())
            }
            _ => false,
        };
        if !is_valid {
            self.doubts.push("an invalid comparison in `[[ ]]`");
        }
    }
}

/// Whether this looks like a unary operator: `-f`.
fn is_unary(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|letter| letter.len() == 1 && letter.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

fn has_pipe(part: &WordPart) -> bool {
    matches!(part, WordPart::Plain(text) if text.contains('|'))
}
