//! Words: where one begins and ends, and the pieces it is made of.
//!
//! Invariant: blanks are space and tab and nothing else; a carriage return or a space of Unicode is
//! a part of the word, as it is for the shell.

use super::{
    super::guard::{Level, syntax},
    Parsed, Part, Word,
    cursor::Parser,
    expansions::Quotes,
    is_name,
};

/// Where a word stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Where an assignment may stand.
    Assignable,
    /// Anywhere else.
    Argument,
    /// To the right of `==` or `=~` in `[[ ]]`, where parentheses are a part of it.
    TestPattern,
    /// The same, where `|` is as well.
    TestRegex,
}

/// The pieces of a word, runs of text kept together.
#[derive(Default)]
pub(super) struct Parts(pub(super) Vec<Part>);

impl Parts {
    pub(super) fn plain(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Plain(last)) => last.push_str(text),
            _ => self.0.push(Part::Plain(text.to_owned())),
        }
    }

    /// Also without text: `''` is a word.
    pub(super) fn quoted(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Part::Quoted(last)) => last.push_str(text),
            _ => self.0.push(Part::Quoted(text.to_owned())),
        }
    }

    pub(super) fn text(&mut self, text: &str, quotes: Quotes) {
        if quotes == Quotes::None { self.plain(text) } else { self.quoted(text) }
    }

    /// The name before `=(` or `[`.
    fn is_head_of_array(&self) -> bool {
        match self.0.as_slice() {
            [Part::Plain(text)] => {
                text.strip_suffix('=').is_some_and(|text| is_name(text.strip_suffix('+').unwrap_or(text)))
            }
            [Part::Plain(name), Part::Subscript(_), Part::Plain(text)] => {
                is_name(name) && matches!(text.as_str(), "=" | "+=")
            }
            _ => false,
        }
    }

    fn is_one_name(&self) -> bool {
        matches!(self.0.as_slice(), [Part::Plain(text)] if is_name(text))
    }
}

impl Parser<'_, '_> {
    /// Reads a word, if there is one at the position.
    pub(super) fn word(&mut self, place: Place) -> Parsed<Option<Word>> {
        let start = self.at;
        let mut parts = Parts::default();
        while self.word_piece(&mut parts, place)? {}
        if parts.0.is_empty() {
            return Ok(None);
        }
        self.budget.token()?;
        Ok(Some(Word { parts: parts.0, written: self.since(start).to_owned() }))
    }

    fn word_piece(&mut self, parts: &mut Parts, place: Place) -> Parsed<bool> {
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b')') => return Ok(false),
            Some(b'|') if place == Place::TestRegex => {
                self.at += 1;
                parts.plain("|");
            }
            Some(b'|') => return Ok(false),
            Some(b'(') => match place {
                Place::Assignable if parts.is_head_of_array() => parts.0.push(self.array()?),
                Place::TestPattern | Place::TestRegex => {
                    if place == Place::TestPattern {
                        self.doubts.push("an extended pattern in `[[ ]]`");
                    }
                    parts.0.push(self.balanced()?);
                }
                Place::Assignable | Place::Argument => return Ok(false),
            },
            Some(b'<' | b'>') => {
                let operator = self.at;
                self.at += 1;
                self.skip_joins();
                if self.peek() != Some(b'(') {
                    self.at = operator;
                    return Ok(false);
                }
                parts.0.push(Part::Process(self.substitution()?));
            }
            Some(b'[') if place == Place::Assignable && parts.is_one_name() => {
                self.at += 1;
                let inner = self.nested(Level::Other, |parser| parser.quoted_parts(Quotes::Subscript))?;
                parts.0.push(Part::Subscript(inner));
            }
            Some(_) => self.piece(parts)?,
        }
        Ok(true)
    }

    /// A piece that is the same wherever nothing is quoted.
    pub(super) fn piece(&mut self, parts: &mut Parts) -> Parsed<()> {
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
                // The first is no end of a word here, whatever it is.
                let length = run.bytes().skip(1).position(|byte| special(&byte)).map_or(run.len(), |found| found + 1);
                let length = (length..=run.len()).find(|end| run.is_char_boundary(*end)).unwrap_or(run.len());
                parts.plain(run.get(..length).unwrap_or_default());
                self.at += length;
                Ok(())
            }
        }
    }

    fn backslash(&mut self, parts: &mut Parts) -> Parsed<()> {
        let mut following = self.rest().chars().skip(1);
        match following.next() {
            None => Err(syntax("it ends with a backslash")),
            Some('\n') => {
                self.at += 2;
                Ok(())
            }
            Some(character) => {
                parts.quoted(character.encode_utf8(&mut [0; 4]));
                self.at += 1 + character.len_utf8();
                Ok(())
            }
        }
    }

    /// The text up to this byte, which is taken too.
    pub(super) fn up_to(&mut self, end: u8) -> Parsed<&str> {
        let rest = self.rest();
        let Some(length) = rest.bytes().position(|byte| byte == end) else {
            return Err(syntax(format!("a `{}` is missing", char::from(end))));
        };
        self.at += length + 1;
        Ok(rest.get(..length).unwrap_or_default())
    }

    fn double(&mut self, parts: &mut Parts) -> Parsed<()> {
        self.at += 1;
        let inner = self.nested(Level::Other, |parser| parser.quoted_parts(Quotes::Double))?;
        // Even empty quotes make a word.
        parts.quoted("");
        for part in inner {
            match part {
                Part::Quoted(text) => parts.quoted(&text),
                other => parts.0.push(other),
            }
        }
        Ok(())
    }

    /// `(word ...)` behind `name=`.
    fn array(&mut self) -> Parsed<Part> {
        self.at += 1;
        self.nested(Level::Other, |parser| {
            let mut words = Vec::new();
            loop {
                parser.skip_lines()?;
                if parser.peek() == Some(b')') {
                    parser.at += 1;
                    return Ok(Part::Array(words));
                }
                match parser.word(Place::Argument)? {
                    Some(word) => words.push(word),
                    None => return parser.unexpected("`)` of an array"),
                }
            }
        })
    }

    /// `(...)` in a pattern or a regular expression.
    fn balanced(&mut self) -> Parsed<Part> {
        self.at += 1;
        self.nested(Level::Other, |parser| {
            let mut parts = Parts::default();
            loop {
                match parser.peek() {
                    None => return parser.unexpected("`)`"),
                    Some(b')') => {
                        parser.at += 1;
                        return Ok(Part::Balanced(parts.0));
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
