//! Expansions that start with a dollar or a backtick, and quoted text that contains them.
//!
//! Invariant: the commands in a substitution are parsed in place, by the same grammar, so that a parenthesis in a
//! `case` or in a comment does not end the substitution early.

use super::{
    cursor::{Parsed, Parser},
    modes::Quotes,
    tree::{Parameter, Script, WordPart},
    word_parts::WordParts,
};
use crate::budget::{Nesting, syntax};

impl Parser<'_, '_> {
    /// Reads quoted text up to and including its end.
    pub(super) fn quoted_parts(&mut self, quotes: Quotes) -> Parsed<Vec<WordPart>> {
        let mut parts = WordParts::default();
        loop {
            match (self.peek(), quotes) {
                (None, Quotes::Here | Quotes::Arithmetic) => return Ok(parts.0),
                (None, _) => return Err(syntax("missing `\"` or `]`")),
                (Some(b'"'), Quotes::Double) | (Some(b']'), Quotes::Subscript) => {
                    self.at += 1;
                    return Ok(parts.0);
                }
                (Some(b'"' | b'\'' | b'\\' | b'['), Quotes::Arithmetic | Quotes::Subscript) => {
                    // The meaning of quotes and nested subscripts depends on the version.
                    return self.unexpected("arithmetic without quotes or nested brackets");
                }
                (Some(b'\\'), _) => self.quoted_backslash(&mut parts, quotes),
                (Some(b'$'), _) => self.dollar(&mut parts, quotes)?,
                (Some(b'`'), _) => self.backticks(&mut parts, quotes)?,
                (Some(_), _) => {
                    let rest = self.rest();
                    let special = |byte: u8| b"\"'\\$`[]".contains(&byte);
                    let length = rest.bytes().skip(1).position(special).map_or(rest.len(), |found| found + 1);
                    let length = (length..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
                    parts.quoted(rest.get(..length).unwrap_or_default());
                    self.at += length;
                }
            }
        }
    }

    /// Reads a backslash in quotes, which is literal except before characters that are special there.
    fn quoted_backslash(&mut self, parts: &mut WordParts, quotes: Quotes) {
        match self.peek_after(1) {
            Some(b'\n') => self.at += 2,
            Some(byte @ (b'$' | b'`' | b'\\')) => {
                parts.quoted(char::from(byte).encode_utf8(&mut [0; 4]));
                self.at += 2;
            }
            Some(b'"') if quotes == Quotes::Double => {
                parts.quoted("\"");
                self.at += 2;
            }
            _ => {
                parts.quoted("\\");
                self.at += 1;
            }
        }
    }

    /// Reads an expansion that starts with a dollar.
    pub(super) fn dollar(&mut self, parts: &mut WordParts, quotes: Quotes) -> Parsed<()> {
        self.budget.token()?;
        self.at += 1;
        self.skip_joins();
        match self.peek() {
            Some(b'(') => {
                let part = match self.arithmetic()? {
                    Some(inner) => WordPart::Arithmetic(inner),
                    // Versions differ in which of the two it is.
                    None if self.peek_after(1) == Some(b'(') => return self.unexpected("`))`"),
                    None => WordPart::Command { script: self.substitution()?, splitting: quotes.splitting() },
                };
                parts.0.push(part);
            }
            Some(b'{') => {
                self.at += 1;
                let parameter = self.nested(Nesting::Other, |parser| parser.parameter(quotes))?;
                parts.0.push(WordPart::Parameter(parameter));
            }
            // Old arithmetic in bash, plain text in sh.
            Some(b'[') => return Err(syntax("`$[...]` is not supported: bash reads arithmetic, sh reads text")),
            Some(b'\'') if quotes == Quotes::None => self.ansi(parts)?,
            // Translated text in bash, a dollar and quoted text in sh.
            Some(b'"') if quotes == Quotes::None => {
                return Err(syntax("`$\"...\"` is not supported: bash and sh read it differently"));
            }
            Some(b'?' | b'#' | b'$') => {
                self.at += 1;
                parts.0.push(WordPart::Number);
            }
            Some(byte @ (b'@' | b'*' | b'-' | b'!' | b'0'..=b'9')) => {
                self.at += 1;
                let name = Some(char::from(byte).to_string()).filter(|_| byte != b'-');
                let splitting = quotes.splitting();
                parts.0.push(WordPart::Parameter(Parameter { name, splitting, ..Parameter::default() }));
            }
            Some(b'_' | b'a'..=b'z' | b'A'..=b'Z') => {
                let name = Some(self.name().to_owned());
                let splitting = quotes.splitting();
                parts.0.push(WordPart::Parameter(Parameter { name, splitting, ..Parameter::default() }));
            }
            _ => parts.text("$", quotes),
        }
        Ok(())
    }

    /// Reads the name of a variable.
    pub(super) fn name(&mut self) -> &str {
        let rest = self.rest();
        let part_of_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let length = rest.bytes().position(|byte| !part_of_name(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Reads the commands between `(` and `)`.
    pub(super) fn substitution(&mut self) -> Parsed<Script> {
        self.budget.token()?;
        let start = self.at;
        self.at += 1;
        // Shells disagree about here-documents that cross the border of a substitution.
        let outer = std::mem::take(&mut self.pending);
        let heredocs = self.heredocs;
        self.substitutions += 1;
        let mut script = self.nested(Nesting::Other, Parser::list)?;
        self.substitutions -= 1;
        if self.heredocs > heredocs && !script.is_one_command() {
            // Bash 5.2 prints a substitution, parses the result again, and loses a `;` on the way.
            script.doubts.push("a here-document among several commands in a substitution");
        }
        if self.peek() != Some(b')') {
            return self.unexpected("`)`");
        }
        self.at += 1;
        let crossed = !outer.is_empty() && self.since(start).contains('\n');
        if crossed || !self.pending.is_empty() {
            return Err(syntax("a here-document and a substitution overlap"));
        }
        self.pending = outer;
        Ok(script)
    }

    /// Reads the commands between backticks, which are a separate text after their backslashes are removed.
    pub(super) fn backticks(&mut self, parts: &mut WordParts, quotes: Quotes) -> Parsed<()> {
        self.budget.token()?;
        self.at += 1;
        let mut text = String::new();
        loop {
            match (self.peek(), self.peek_after(1)) {
                (None, _) => return Err(syntax("missing backtick")),
                (Some(b'`'), _) => break,
                (Some(b'\\'), Some(byte @ (b'$' | b'`' | b'\\'))) => {
                    text.push(char::from(byte));
                    self.at += 2;
                }
                // Versions and shells disagree about quotes within quotes within backticks.
                (Some(b'"'), _) | (Some(b'\\'), Some(b'"')) if quotes != Quotes::None => {
                    return self.unexpected("a command in backticks without nested quotes");
                }
                (Some(b'\\'), Some(b'\n')) => self.at += 2,
                (Some(_), _) => {
                    let rest = self.rest();
                    let length =
                        rest.bytes().skip(1).position(|byte| b"\\`\"".contains(&byte)).map_or(rest.len(), |n| n + 1);
                    let length = (length..=rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
                    text.push_str(rest.get(..length).unwrap_or_default());
                    self.at += length;
                }
            }
        }
        self.at += 1;
        self.budget.enter(Nesting::Other)?;
        let script = super::parse(&text, self.budget)?;
        self.budget.leave(Nesting::Other);
        parts.0.push(WordPart::Command { script, splitting: quotes.splitting() });
        Ok(())
    }

    /// Reads `$'...'`: text with escapes.
    fn ansi(&mut self, parts: &mut WordParts) -> Parsed<()> {
        self.at += 1;
        let rest = self.rest();
        let mut end = 0;
        while rest.as_bytes().get(end).is_some_and(|byte| *byte != b'\'') {
            end += if rest.as_bytes().get(end) == Some(&b'\\') { 2 } else { 1 };
        }
        let Some(text) = rest.get(..end).filter(|_| end < rest.len()) else {
            return Err(syntax("missing `'`"));
        };
        // In sh this is a dollar and ordinary quotes, which end at the first quote.
        if text.contains('\'') {
            return Err(syntax("a quote in `$'...'`, which bash and sh read differently"));
        }
        let Some(text) = super::ansi::decoded(text) else {
            return Err(syntax("unsupported escape in `$'...'`"));
        };
        self.at += end + 1;
        parts.quoted(&text);
        Ok(())
    }
}
