//! The collected effects of one command: files with their uses, and doubts.

use super::{
    file_effect::FileEffect,
    programs::{Options, Value},
};
use crate::shell::{Doubt, DoubtKind, Word};

/// The effects of a command, as far as its words show them.
#[derive(Debug, Default)]
pub(crate) struct CommandEffects {
    /// Words that are files, and how the command uses them.
    pub(crate) files: Vec<(FileEffect, Word)>,
    /// Effects that the words of the command do not show.
    pub(crate) doubts: Vec<Doubt>,
}

impl CommandEffects {
    /// Adds the effect of an option's value, by the table of its program.
    pub(crate) fn option(&mut self, program: &str, options: Options, option: &str, word: Word) {
        match options.iter().find(|(name, _)| *name == option).map(|(_, value)| *value) {
            Some(Value::File(touch) | Value::Destination(touch)) => self.files.push((touch, word)),
            Some(Value::ReadWrite) => self.files.extend([(FileEffect::Read, word.clone()), (FileEffect::Write, word)]),
            Some(Value::Upload) => {
                mention(&word, self);
                self.files.push((FileEffect::Read, word));
            }
            Some(Value::Data) => data(&word, self),
            Some(Value::Url) => url(&word, self),
            // A module that is installed.
            Some(Value::Runs) if matches!(option, "r" | "require") && is_module(&word) => {}
            Some(Value::Runs) => self.doubts.push(runs(program, option, &word)),
            Some(Value::Text) => {}
            // The value of an unknown option, or of one that takes no value, may be anything.
            Some(Value::Plain) | None => mention(&word, self),
        }
    }
}

/// Whether a word is the name of a module and not a path.
fn is_module(word: &Word) -> bool {
    word.literal().is_some_and(|text| {
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@')
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/@".contains(&byte))
    })
}

/// Returns the doubt about an option that runs its value.
pub(crate) fn runs(name: &str, option: &str, word: &Word) -> Doubt {
    let about = format!("`{name}` runs the value of option `{option}`: `{}`", word.shown());
    Doubt::new(DoubtKind::ForeignCode, about)
}

/// Adds the files that `curl` sends: those after `@` and `<`.
fn data(word: &Word, effects: &mut CommandEffects) {
    let sent = word.shown().split(['@', '<']).skip(1);
    let files = sent.flat_map(|text| [text].into_iter().chain(text.split([';', ','])));
    let files = files.filter(|text| !text.is_empty());
    effects.files.extend(files.map(|text| (FileEffect::Mention, Word::Literal(text.to_owned()))));
}

/// Adds the file of an address: `file:///x`, in any letter case, with percent-encoded characters.
pub(crate) fn url(word: &Word, effects: &mut CommandEffects) {
    let text = word.shown();
    let scheme = text.get(..5).unwrap_or("");
    if !scheme.eq_ignore_ascii_case("file:") {
        // The meaning of an address without a scheme depends on other options.
        if !text.contains("://") {
            mention(word, effects);
        }
        return;
    }
    let path = &text[5..];
    let path = path.strip_prefix("//").map_or(path, |rest| rest.find('/').map_or(rest, |at| &rest[at..]));
    if path.contains(['[', '{', '%', '*', '?']) {
        let about = format!("the file that `{text}` names");
        effects.doubts.push(Doubt::new(DoubtKind::NotLiteral, about));
    }
    effects.files.push((FileEffect::Read, Word::Literal(path.to_owned())));
}

/// How many words of one command are examined, including pieces of words.
const MOST_MENTIONS: usize = 2_048;

/// Mentions a word and its pieces, each of which could be a file: after `=`, `@` or `:`, after the letter of an option,
/// or in a text that may be a command. The total is at most a few times the length of the word.
pub(crate) fn mention(word: &Word, effects: &mut CommandEffects) {
    let text = match word {
        Word::Literal(text) => text.as_str(),
        // A name with a number or a date in it is a path only if it is written like one.
        Word::Stamp(text) if !text.contains('/') => return,
        Word::Stamp(_) | Word::Pattern(_) | Word::Pieces(_) | Word::Token(_) | Word::Unknown(_) => {
            effects.files.push((FileEffect::Mention, word.clone()));
            return;
        }
    };
    let letter = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let letter = letter.and_then(|rest| rest.char_indices().nth(1).map(|(at, _)| &rest[at..]));
    let behind = text.split_once(MARKS).map(|(_, behind)| behind);
    let last = text.rsplit_once(MARKS).map(|(_, last)| last);
    let pieces = text.split(|c: char| MARKS.contains(&c) || BETWEEN_WORDS.contains(&c));
    let pieces = pieces.filter(|piece| piece.len() < text.len());
    for text in [Some(text), behind, last, letter].into_iter().flatten().chain(pieces) {
        if text.is_empty() || text.starts_with('-') {
            continue;
        }
        if effects.files.len() >= MOST_MENTIONS {
            let about = "too many words to check";
            effects.doubts.push(Doubt::new(DoubtKind::TooMuch, about));
            return;
        }
        named_in(text, effects);
    }
}

/// Characters before a file name in a word.
const MARKS: &[char] = &['=', '@', ':', '+'];

/// Characters between the words of a command, in any language.
const BETWEEN_WORDS: &[char] = &[' ', '\t', '\n', '\'', '"', '`', ';', '|', '&', '<', '>', '(', ')', ',', '{', '}'];

fn named_in(text: &str, effects: &mut CommandEffects) {
    let is_path = text.starts_with(['/', '~']) || text.contains('/');
    let touch = if is_path { FileEffect::MentionedPath } else { FileEffect::Mention };
    effects.files.push((touch, Word::Literal(text.to_owned())));
}
