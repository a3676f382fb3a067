//! The parts of a word while it is read.

use super::{
    modes::Quotes,
    tree::{WordPart, is_name},
};

/// The pieces of a word, with adjacent text merged.
#[derive(Default)]
pub(super) struct WordParts(pub(super) Vec<WordPart>);

impl WordParts {
    pub(super) fn plain(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(WordPart::Plain(last)) => last.push_str(text),
            _ => self.0.push(WordPart::Plain(text.to_owned())),
        }
    }

    /// Adds quoted text, even if it is empty: `''` is a word.
    pub(super) fn quoted(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(WordPart::Quoted(last)) => last.push_str(text),
            _ => self.0.push(WordPart::Quoted(text.to_owned())),
        }
    }

    pub(super) fn text(&mut self, text: &str, quotes: Quotes) {
        if quotes == Quotes::None { self.plain(text) } else { self.quoted(text) }
    }

    /// Whether the parts so far are `name=` or `name[...]=`, so that `(` starts an array.
    pub(super) fn is_head_of_array(&self) -> bool {
        match self.0.as_slice() {
            [WordPart::Plain(text)] => {
                text.strip_suffix('=').is_some_and(|text| is_name(text.strip_suffix('+').unwrap_or(text)))
            }
            [WordPart::Plain(name), WordPart::Subscript(_), WordPart::Plain(text)] => {
                is_name(name) && matches!(text.as_str(), "=" | "+=")
            }
            _ => false,
        }
    }

    pub(super) fn is_one_name(&self) -> bool {
        matches!(self.0.as_slice(), [WordPart::Plain(text)] if is_name(text))
    }
}
