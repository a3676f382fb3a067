//! What a reader saw, in order: marks for the structure, and texts as they are written.
//!
//! Invariant: both readers bring texts into the same form, and only what one of them does not keep
//! is left out of it: joined lines, and blanks within expansions.

use std::borrow::Cow;

/// One thing that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen<'text> {
    /// A construct, an operator, or the role of the text behind it.
    Mark(&'static str),
    /// A word, a name, or the text of a here-document.
    Text(Cow<'text, str>),
}

/// A list of what was seen.
pub(super) trait List<'text> {
    fn mark(&mut self, mark: &'static str);
    /// A word that the shell expands.
    fn word(&mut self, word: Cow<'text, str>);
    /// A text that means itself.
    fn text(&mut self, text: Cow<'text, str>);
}

impl<'text> List<'text> for Vec<Seen<'text>> {
    fn mark(&mut self, mark: &'static str) {
        self.push(Seen::Mark(mark));
    }

    fn word(&mut self, word: Cow<'text, str>) {
        self.push(Seen::Text(same_form(word)));
    }

    fn text(&mut self, text: Cow<'text, str>) {
        self.push(Seen::Text(text));
    }
}

/// The second reader drops joined lines, and puts what is in expansions together from its tokens.
fn same_form(mut word: Cow<'_, str>) -> Cow<'_, str> {
    if word.contains("\\\n") {
        word = Cow::Owned(word.replace("\\\n", ""));
    }
    if ["$(", "${", "<(", ">("].iter().any(|opening| word.contains(opening)) && word.contains([' ', '\t']) {
        word = Cow::Owned(word.replace([' ', '\t'], ""));
    }
    word
}

/// Whether this text behind `>&` or `<&` is a descriptor: `1`, `-` or `1-`.
pub(super) fn is_descriptor(text: &str) -> bool {
    text.strip_suffix('-').unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word in `[[ ]]` looks like an operator. The second reader does not keep how these were
/// written, so both leave them out.
pub(super) fn is_operator_of_test(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    let option = (1..=2).contains(&letters.len()) && letters.bytes().all(|byte| byte.is_ascii_alphabetic());
    option || matches!(word, "!" | "=" | "==" | "!=" | "=~")
}
