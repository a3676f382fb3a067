//! Redirections: the operator and its file, descriptor or text.
//!
//! Invariant: every operator of bash is known; `>&` to something that is not a number is a file.

use super::{
    cursor::{Parsed, Parser},
    modes::{Tabs, WordContext},
    tree::{RawWord, Redirect, RedirectSource, RedirectTarget, WordPart},
};

impl Parser<'_, '_> {
    /// Reads a redirection, if one starts here, and returns whether sh would end the command at it.
    pub(super) fn redirect(&mut self, from: RedirectSource) -> Parsed<Option<(Redirect, bool)>> {
        let first = match self.peek() {
            Some(byte @ (b'<' | b'>')) if self.operator_after() != Some(b'(') => byte,
            Some(b'&') if from == RedirectSource::Usual && self.operator_after() == Some(b'>') => b'&',
            _ => return Ok(None),
        };
        self.budget.token()?;
        self.take(first);
        let to = match first {
            b'<' => self.input()?,
            b'>' => self.output()?,
            _ => {
                self.take(b'>');
                self.take(b'>');
                RedirectTarget::Write(self.file()?)
            }
        };
        Ok(Some((Redirect { from, to }, first == b'&')))
    }

    fn input(&mut self) -> Parsed<RedirectTarget> {
        if self.take(b'<') {
            if self.take(b'<') {
                return Ok(RedirectTarget::HereString(self.file()?));
            }
            let tabs = if self.take(b'-') { Tabs::Stripped } else { Tabs::Kept };
            return self.announce_heredoc(tabs);
        }
        if self.take(b'>') {
            return Ok(RedirectTarget::ReadWrite(self.file()?));
        }
        if self.take(b'&') {
            let word = self.descriptor_or_file()?;
            return Ok(if is_descriptor(&word) { RedirectTarget::DuplicateInput } else { RedirectTarget::Read(word) });
        }
        Ok(RedirectTarget::Read(self.file()?))
    }

    fn output(&mut self) -> Parsed<RedirectTarget> {
        if self.take(b'&') {
            let word = self.descriptor_or_file()?;
            // With a number in front, a file is an error at run time; it is recorded as a file anyway.
            return Ok(if is_descriptor(&word) {
                RedirectTarget::DuplicateOutput
            } else {
                RedirectTarget::Write(word)
            });
        }
        if !self.take(b'>') {
            self.take(b'|');
        }
        Ok(RedirectTarget::Write(self.file()?))
    }

    /// Reads the word after `>&` or `<&`, where bash removes quotes in a special way.
    fn descriptor_or_file(&mut self) -> Parsed<RawWord> {
        let word = self.file()?;
        if word.parts.iter().any(|part| matches!(part, WordPart::Quoted(_))) {
            return self.unexpected("an unquoted descriptor or file");
        }
        Ok(word)
    }

    fn file(&mut self) -> Parsed<RawWord> {
        self.skip_blanks();
        match self.word(WordContext::Argument)? {
            Some(word) => Ok(word),
            None => self.unexpected("the target of a redirection"),
        }
    }

    /// Reads the redirections after a compound command.
    pub(super) fn redirects(&mut self) -> Parsed<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            if let Some((redirect, _)) = self.redirect(RedirectSource::Usual)? {
                redirects.push(redirect);
                continue;
            }
            let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 || !matches!(self.peek_after(digits), Some(b'<' | b'>')) {
                return Ok(redirects);
            }
            let number = self.rest().get(..digits).unwrap_or_default().to_owned();
            self.at += digits;
            match self.redirect(RedirectSource::Number(number))? {
                Some((redirect, _)) => redirects.push(redirect),
                None => return self.unexpected("a redirection"),
            }
        }
    }
}

/// Whether a word is `1`, `-` or `1-`.
fn is_descriptor(word: &RawWord) -> bool {
    word.plain().is_some_and(|text| {
        let digits = text.strip_suffix('-').unwrap_or(text);
        digits.bytes().all(|byte| byte.is_ascii_digit())
    })
}
