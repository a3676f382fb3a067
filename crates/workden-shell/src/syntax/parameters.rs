//! `${...}` and arithmetic.
//!
//! Invariant: the values of expansions are not known here, so only these facts matter: the variable and the operator,
//! the commands nested in them, and whether they evaluate text as code.

use super::{
    cursor::{Parsed, Parser},
    modes::Quotes,
    tree::{Parameter, WordPart},
    word_parts::WordParts,
};
use crate::budget::{Nesting, syntax};

impl Parser<'_, '_> {
    /// Reads the rest of `${...}`.
    pub(super) fn parameter(&mut self, quotes: Quotes) -> Parsed<Parameter> {
        self.skip_joins();
        let mut parameter = Parameter { splitting: quotes.splitting(), ..Parameter::default() };
        let mut hash = false;
        match self.peek() {
            // `${#x}` is a length, `${#}` and `${#-y}` are about the parameter `#`.
            Some(b'#') => {
                self.at += 1;
                hash = true;
            }
            Some(b'!') => {
                self.at += 1;
                parameter.evaluates = true;
            }
            _ => {}
        }
        let name = self.name().to_owned();
        if name.is_empty() {
            match self.peek() {
                Some(b'@' | b'*' | b'?' | b'-' | b'$' | b'#' | b'!') => self.at += 1,
                Some(b'}') => {}
                // `${ command; }` and `${|command;}` of newer shells.
                _ => return self.unexpected("the name of a parameter"),
            }
        }
        let (operator, following) = (self.peek(), self.peek_after(1));
        let is_positional = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_digit());
        let is_variable =
            (name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || is_positional) && !parameter.evaluates;
        parameter.length = hash && is_variable && operator == Some(b'}');
        parameter.name = (is_variable && !hash).then(|| name.clone());
        match (operator, following) {
            (Some(b':'), Some(b'=')) | (Some(b'='), _) => parameter.sets = Some(name),
            (Some(b':'), Some(b'-' | b'+' | b'?')) => {}
            (Some(b'}' | b'-' | b'+' | b'?' | b'#' | b'%' | b'/' | b'^' | b','), _) => {}
            (Some(b'['), _) if self.is_plain_subscript() => {
                parameter.length = hash && is_variable;
            }
            // Subscripts, substrings and `@` operators evaluate text.
            _ => parameter.evaluates = true,
        }
        parameter.inner = self.parameter_word(quotes)?;
        Ok(parameter)
    }

    /// Whether `[@]`, `[*]` or a number in brackets follows, right before the brace.
    fn is_plain_subscript(&self) -> bool {
        let rest = self.rest();
        let Some((inside, _)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("]}")) else { return false };
        matches!(inside, "@" | "*") || !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Reads the text between the name and the brace.
    fn parameter_word(&mut self, quotes: Quotes) -> Parsed<Vec<WordPart>> {
        let mut parts = WordParts::default();
        loop {
            match self.peek() {
                None => return Err(syntax("missing `}`")),
                Some(b'}') => {
                    self.at += 1;
                    return Ok(parts.0);
                }
                // The operator decides whether quotes are special within `"${...}"`.
                Some(b'\'' | b'"') if quotes != Quotes::None => return self.unexpected("`${...}` without quotes"),
                Some(b'$') => self.dollar(&mut parts, quotes)?,
                Some(b'`') => self.backticks(&mut parts, quotes)?,
                // Versions disagree whether this is a process substitution.
                Some(b'<' | b'>') if self.peek_after(1) == Some(b'(') => return self.unexpected("`}`"),
                Some(_) => self.piece(&mut parts)?,
            }
        }
    }

    /// Reads `((...))`, if this is arithmetic: text in balanced parentheses that ends with two.
    pub(super) fn arithmetic(&mut self) -> Parsed<Option<Vec<WordPart>>> {
        if self.peek_after(1) == Some(b'\\') && self.peek_after(2) == Some(b'\n') {
            return Err(syntax("`((` split by a line continuation"));
        }
        if self.peek_after(1) != Some(b'(') {
            return Ok(None);
        }
        let start = self.at + 2;
        let Some(end) = self.arithmetic_end(start)? else { return Ok(None) };
        let text = self.text.get(start..end).unwrap_or_default();
        self.budget.token()?;
        self.budget.text(text.len())?;
        self.budget.enter(Nesting::Other)?;
        let inner = Parser::new(text, self.budget).quoted_parts(Quotes::Arithmetic)?;
        self.budget.leave(Nesting::Other);
        self.at = end + 2;
        Ok(Some(inner))
    }

    /// Returns the position of the two closing parentheses, if all others are balanced.
    fn arithmetic_end(&self, start: usize) -> Parsed<Option<usize>> {
        let bytes = self.text.as_bytes();
        let mut open = 0_usize;
        for (at, byte) in bytes.iter().enumerate().skip(start) {
            match byte {
                b'(' => open += 1,
                b')' if open > 0 => open -= 1,
                b')' => return Ok((bytes.get(at + 1) == Some(&b')')).then_some(at)),
                // With quotes, only a shell can tell where the arithmetic ends.
                b'"' | b'\'' | b'\\' | b'`' => return Err(syntax("quotes after `((`")),
                _ => {}
            }
        }
        Err(syntax("missing `))`"))
    }
}
