//! Words: their start, their end and their pieces.
//!
//! Invariant: only space and tab are blanks; a carriage return or a Unicode space is a part of the word, as in the
//! shell.

use super::{
    cursor::{Parsed, Parser},
    modes::{Quotes, WordContext},
    tree::{RawWord, WordPart},
    word_parts::WordParts,
};
use crate::budget::{Nesting, syntax};

impl Parser<'_, '_> {
    /// Reads a word, if one starts at the position.
    pub(super) fn word(&mut self, place: WordContext) -> Parsed<Option<RawWord>> {
        let start = self.at;
        let mut parts = WordParts::default();
        while self.word_piece(&mut parts, place)? {}
        if parts.0.is_empty() {
            return Ok(None);
        }
        self.budget.token()?;
        if parts.0.len() > 1 && parts.0.iter().any(|part| matches!(part, WordPart::Process(_))) {
            self.doubts.push("a process substitution within a word");
        }
        let before_last = parts.0.len() - 1;
        if parts.0.iter().take(before_last).any(|part| matches!(part, WordPart::Array(_))) {
            self.doubts.push("text after the `)` of an array");
        }
        Ok(Some(RawWord { parts: parts.0, written: self.since(start).to_owned() }))
    }

    fn word_piece(&mut self, parts: &mut WordParts, place: WordContext) -> Parsed<bool> {
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b')') => return Ok(false),
            Some(b'|') if place == WordContext::TestRegex => {
                self.at += 1;
                parts.plain("|");
            }
            Some(b'|') => return Ok(false),
            Some(b'(') => match place {
                WordContext::Assignable if parts.is_head_of_array() => parts.0.push(self.array()?),
                WordContext::TestPattern | WordContext::TestRegex => {
                    if place == WordContext::TestPattern {
                        self.doubts.push("an extended pattern in `[[ ]]`");
                    }
                    parts.0.push(self.balanced()?);
                }
                WordContext::Assignable | WordContext::Argument => return Ok(false),
            },
            Some(b'<' | b'>') => {
                let operator = self.at;
                self.at += 1;
                self.skip_joins();
                if self.peek() != Some(b'(') {
                    self.at = operator;
                    return Ok(false);
                }
                parts.0.push(WordPart::Process(self.substitution()?));
            }
            Some(b'[') if place == WordContext::Assignable && parts.is_one_name() => {
                self.at += 1;
                let inner = self.nested(Nesting::Other, |parser| parser.quoted_parts(Quotes::Subscript))?;
                parts.0.push(WordPart::Subscript(inner));
            }
            Some(_) => self.piece(parts)?,
        }
        Ok(true)
    }

    /// Reads a piece that is the same in all unquoted contexts.
    pub(super) fn piece(&mut self, parts: &mut WordParts) -> Parsed<()> {
        match self.peek() {
            Some(b'\\') => self.backslash(parts),
            Some(b'\'') => {
                self.at += 1;
                let text = self.up_to(b'\'')?;
                parts.quoted(text);
                Ok(())
            }
            Some(b'"') => self.double(parts),
            Some(b'$') => self.dollar(parts, Quotes::None),
            Some(b'`') => self.backticks(parts, Quotes::None),
            _ => {
                let run = self.rest();
                let special = |byte: &u8| b" \t\n;&|()<>[\\'\"$`{}".contains(byte);
                // The first byte never ends a word here.
                let length = run.bytes().skip(1).position(|byte| special(&byte)).map_or(run.len(), |found| found + 1);
                let length = (length..=run.len()).find(|end| run.is_char_boundary(*end)).unwrap_or(run.len());
                parts.plain(run.get(..length).unwrap_or_default());
                self.at += length;
                Ok(())
            }
        }
    }

    fn backslash(&mut self, parts: &mut WordParts) -> Parsed<()> {
        let mut following = self.rest().chars().skip(1);
        match following.next() {
            None => Err(syntax("backslash at the end of the script")),
            Some('\n') => {
                self.at += 2;
                Ok(())
            }
            Some(character) => {
                if character == '$' && matches!(following.next(), Some('\'' | '"')) {
                    self.doubts.push("a quote after `\\$`, which some parsers read as `$'...'`");
                }
                parts.quoted(character.encode_utf8(&mut [0; 4]));
                self.at += 1 + character.len_utf8();
                Ok(())
            }
        }
    }

    /// Reads the text up to and including this byte, and returns it without the byte.
    pub(super) fn up_to(&mut self, end: u8) -> Parsed<&str> {
        let rest = self.rest();
        let Some(length) = rest.bytes().position(|byte| byte == end) else {
            return Err(syntax(format!("missing `{}`", char::from(end))));
        };
        self.at += length + 1;
        Ok(rest.get(..length).unwrap_or_default())
    }

    fn double(&mut self, parts: &mut WordParts) -> Parsed<()> {
        self.at += 1;
        let inner = self.nested(Nesting::Other, |parser| parser.quoted_parts(Quotes::Double))?;
        // Even empty quotes make a word.
        parts.quoted("");
        for part in inner {
            match part {
                WordPart::Quoted(text) => parts.quoted(&text),
                other => parts.0.push(other),
            }
        }
        Ok(())
    }

    /// Reads `(word ...)` after `name=`.
    fn array(&mut self) -> Parsed<WordPart> {
        self.at += 1;
        self.nested(Nesting::Other, |parser| {
            let mut words = Vec::new();
            loop {
                parser.skip_lines()?;
                if parser.peek() == Some(b')') {
                    parser.at += 1;
                    return Ok(WordPart::Array(words));
                }
                match parser.word(WordContext::Argument)? {
                    Some(word) => words.push(word),
                    None => return parser.unexpected("`)` after an array"),
                }
            }
        })
    }

    /// Reads `(...)` in a pattern or a regular expression.
    fn balanced(&mut self) -> Parsed<WordPart> {
        self.at += 1;
        self.nested(Nesting::Other, |parser| {
            let mut parts = WordParts::default();
            loop {
                match parser.peek() {
                    None => return parser.unexpected("`)`"),
                    Some(b')') => {
                        parser.at += 1;
                        return Ok(WordPart::Balanced(parts.0));
                    }
                    Some(b'(') => parts.0.push(parser.balanced()?),
                    Some(b'\n' | b'<' | b'>' | b';' | b'&') => return parser.unexpected("`)`"),
                    Some(b' ' | b'\t' | b'|') => {
                        parser.at += 1;
                        parts.quoted(" ");
                    }
                    Some(_) => parser.piece(&mut parts)?,
                }
            }
        })
    }
}
