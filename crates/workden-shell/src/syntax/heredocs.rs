//! Here-documents: the delimiter follows the operator, and the text follows the line.
//!
//! Invariant: every announced document is read at the next end of a line, or it is an error. A document without its
//! last line is an error as well, although shells accept it.

use std::{cell::OnceCell, rc::Rc};

use super::{
    cursor::{Parsed, Parser},
    modes::{Quotes, Tabs, WordContext},
    tree::{HereDocument, PendingHereDocument, RedirectTarget, WordPart},
};
use crate::budget::{Nesting, syntax};

impl Parser<'_, '_> {
    /// Reads the delimiter after `<<` or `<<-`.
    pub(super) fn announce_heredoc(&mut self, tabs: Tabs) -> Parsed<RedirectTarget> {
        self.skip_blanks();
        let Some(word) = self.word(WordContext::Argument)? else { return self.unexpected("a delimiter") };
        let mut delimiter = String::new();
        let mut expands = true;
        for part in &word.parts {
            match part {
                WordPart::Plain(text) => delimiter.push_str(text),
                WordPart::Quoted(text) => {
                    expands = false;
                    delimiter.push_str(text);
                }
                WordPart::Number
                | WordPart::Parameter(_)
                | WordPart::Command { .. }
                | WordPart::Arithmetic(_)
                | WordPart::Process(_)
                | WordPart::Array(_)
                | WordPart::Subscript(_)
                | WordPart::Balanced(_) => return Err(syntax("invalid here-document delimiter: not plain text")),
            }
        }
        // Shells disagree about these delimiters, and they are rare.
        let odd = delimiter.contains(['\n', '\\', '`', '\'', '"']) || word.written.contains('$');
        if odd || delimiter.is_empty() {
            return Err(syntax("invalid here-document delimiter: not plain text"));
        }
        let document = Rc::new(OnceCell::new());
        let strips_tabs = tabs == Tabs::Stripped;
        self.pending.push(PendingHereDocument { document: Rc::clone(&document), delimiter, expands, strips_tabs });
        Ok(RedirectTarget::HereDocument(document))
    }

    /// Reads the documents that were announced on the line that just ended.
    pub(super) fn read_heredocs(&mut self) -> Parsed<()> {
        for pending in std::mem::take(&mut self.pending) {
            self.heredocs += 1;
            let text = self.heredoc_text(&pending)?;
            let parts = if pending.expands {
                self.budget.text(text.len())?;
                self.budget.enter(Nesting::Other)?;
                let mut inner = Parser::new(&text, self.budget);
                let parts = inner.quoted_parts(Quotes::Here)?;
                self.budget.leave(Nesting::Other);
                parts
            } else {
                vec![WordPart::Quoted(text)]
            };
            // The cell is filled only here, and only once.
            _ = pending.document.set(HereDocument { parts });
        }
        Ok(())
    }

    fn heredoc_text(&mut self, pending: &PendingHereDocument) -> Parsed<String> {
        let mut text = String::new();
        loop {
            if self.at >= self.text.len() {
                return Err(syntax(format!("unterminated here-document: no line `{}`", pending.delimiter)));
            }
            let line = self.heredoc_line(pending)?;
            let line = if pending.strips_tabs { line.trim_start_matches('\t') } else { &line };
            let ended = line.strip_suffix('\n').unwrap_or(line);
            if ended == pending.delimiter {
                return Ok(text);
            }
            if ended.strip_prefix(pending.delimiter.as_str()).is_some_and(|rest| rest.contains([')', '`'])) {
                // In a substitution bash treats this as the end, and other shells do not.
                return Err(syntax("ambiguous end of a here-document"));
            }
            text.push_str(line);
        }
    }

    /// Reads one line with its newline. In expanded text, joined lines are one line.
    fn heredoc_line(&mut self, pending: &PendingHereDocument) -> Parsed<String> {
        let mut line = String::new();
        loop {
            let rest = self.rest();
            let piece = rest.find('\n').map_or(rest, |end| rest.get(..=end).unwrap_or(rest));
            self.at += piece.len();
            let backslashes = piece.strip_suffix('\n').map_or(0, |kept| kept.len() - kept.trim_end_matches('\\').len());
            let joins = pending.expands && backslashes % 2 == 1 && self.at < self.text.len();
            if !joins {
                line.push_str(piece);
                return Ok(line);
            }
            line.push_str(piece.get(..piece.len() - 2).unwrap_or_default());
            let next = self.rest().lines().next().unwrap_or_default();
            if next.trim_start_matches('\t') == pending.delimiter {
                return Err(syntax("ambiguous end of a here-document"));
            }
        }
    }
}
