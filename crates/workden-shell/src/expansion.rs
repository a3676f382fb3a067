//! The expansion of a word: a text, a pattern of names, or unknown until the shell runs.
//!
//! Invariant: a [`Word::Literal`] is what the program gets, byte for byte, except that a literal tilde is written
//! `./~`, so that it is not read as a home directory.

use crate::{
    analysis::Word,
    braces::{self, Atom},
    syntax::{RawWord, WordPart},
};

/// Whether braces expand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BraceExpansion {
    /// Braces expand, as in the words of a command.
    Expand,
    /// Braces are refused, as after a redirection, where shells disagree.
    Refuse,
}

/// Returns the words that a word expands to.
pub(super) fn expanded(word: &RawWord, braces: BraceExpansion) -> Vec<Word> {
    if let Some(text) = word.plain()
        && !text.contains(['{', '~', '*', '?', '['])
    {
        return vec![Word::Literal(text.to_owned())];
    }
    let atoms = atoms(&word.parts);
    let live = atoms.contains(&Atom::Live('{'));
    match braces {
        BraceExpansion::Expand if live => match braces::expanded(&atoms) {
            Some(words) => words.iter().map(|atoms| finished(atoms, &word.written)).collect(),
            None => vec![Word::Unknown(word.written.clone())],
        },
        BraceExpansion::Refuse if live => vec![Word::Unknown(word.written.clone())],
        BraceExpansion::Expand | BraceExpansion::Refuse => vec![finished(&atoms, &word.written)],
    }
}

/// Returns the one file that a word names after a redirection.
pub(super) fn file(word: &RawWord) -> Word {
    // In sh this is a file with another name.
    if word.written.contains("$'") {
        return Word::Unknown(word.written.clone());
    }
    let mut words = expanded(word, BraceExpansion::Refuse);
    match words.pop() {
        Some(only) if words.is_empty() => only,
        _ => Word::Unknown(word.written.clone()),
    }
}

/// Returns the text of the parts, if they are only text.
pub(super) fn text(parts: &[WordPart]) -> Option<String> {
    let mut text = String::new();
    for atom in atoms(parts) {
        match atom {
            Atom::Live(character) | Atom::Fixed(character) => text.push(character),
            Atom::Unknown => return None,
        }
    }
    Some(text)
}

fn atoms(parts: &[WordPart]) -> Vec<Atom> {
    let mut atoms = Vec::new();
    let is_empty = |part: &&WordPart| matches!(part, WordPart::Plain(text) | WordPart::Quoted(text) if text.is_empty());
    let alone = parts.iter().filter(|part| !is_empty(part)).count() == 1;
    for part in parts {
        match part {
            WordPart::Plain(text) => atoms.extend(text.chars().map(Atom::Live)),
            WordPart::Quoted(text) => atoms.extend(text.chars().map(Atom::Fixed)),
            // A number alone does not matter; as a part of a name it decides which file it is.
            WordPart::Number if alone => atoms.push(Atom::Fixed('0')),
            WordPart::Number
            | WordPart::Parameter(_)
            | WordPart::Command(_)
            | WordPart::Arithmetic(_)
            | WordPart::Process(_)
            | WordPart::Array(_)
            | WordPart::Subscript(_)
            | WordPart::Balanced(_) => atoms.push(Atom::Unknown),
        }
    }
    atoms
}

fn finished(atoms: &[Atom], written: &str) -> Word {
    let unknown = || Word::Unknown(written.to_owned());
    if atoms.contains(&Atom::Unknown) {
        return unknown();
    }
    let text: String = match tilde(atoms) {
        Tilde::Unknown => return unknown(),
        Tilde::Kept => String::new(),
        Tilde::NotOne => "./".to_owned(),
    };
    if atoms.iter().any(|atom| matches!(atom, Atom::Live('*' | '?'))) || brackets(atoms).next().is_some() {
        return match pattern(atoms) {
            Some(pattern) => Word::Pattern(text + &pattern),
            None => unknown(),
        };
    }
    Word::Literal(text + &characters(atoms))
}

fn characters(atoms: &[Atom]) -> String {
    atoms
        .iter()
        .filter_map(|atom| match atom {
            Atom::Live(character) | Atom::Fixed(character) => Some(*character),
            Atom::Unknown => None,
        })
        .collect()
}

enum Tilde {
    /// The word has no leading tilde, or its tilde means a home directory.
    Kept,
    /// The leading tilde is literal.
    NotOne,
    /// `~+`, `~-`, `~1`.
    Unknown,
}

fn tilde(atoms: &[Atom]) -> Tilde {
    match atoms.first() {
        Some(Atom::Fixed('~')) => return Tilde::NotOne,
        Some(Atom::Live('~')) => {}
        _ => return Tilde::Kept,
    }
    let prefix = atoms.split(|atom| matches!(atom, Atom::Live('/') | Atom::Fixed('/'))).next().unwrap_or_default();
    if prefix.iter().any(|atom| matches!(atom, Atom::Fixed(_))) {
        return Tilde::NotOne;
    }
    match prefix.get(1) {
        Some(Atom::Live('+' | '-' | '0'..='9')) => Tilde::Unknown,
        _ => Tilde::Kept,
    }
}

/// Returns the positions of the brackets that form a pattern.
fn brackets(atoms: &[Atom]) -> impl Iterator<Item = (usize, usize)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let open = from + atoms.get(from..)?.iter().position(|atom| *atom == Atom::Live('['))?;
        let negated = matches!(atoms.get(open + 1), Some(Atom::Live('!' | '^')));
        // A bracket right after the first one is literal.
        let inside = open + usize::from(negated) + 2;
        let is_end = |atom: &Atom| matches!(atom, Atom::Live(']') | Atom::Fixed(']'));
        // If this bracket is not closed, later ones are not closed either.
        let close = inside + atoms.get(inside..)?.iter().position(is_end)?;
        from = close + 1;
        Some((open, close))
    })
}

/// Returns the pattern with all literal characters escaped.
fn pattern(atoms: &[Atom]) -> Option<String> {
    let mut pattern = String::new();
    let mut inside = brackets(atoms).peekable();
    for (at, atom) in atoms.iter().enumerate() {
        if let Some((open, close)) = inside.peek().copied()
            && at >= open
        {
            match atom {
                // Shells and matchers disagree about classes, quotes and slashes in brackets.
                Atom::Live('[') if at > open => return None,
                Atom::Live('/' | '\\') | Atom::Fixed(_) | Atom::Unknown => return None,
                Atom::Live(character) => pattern.push(*character),
            }
            if at == close {
                inside.next();
            }
            continue;
        }
        match atom {
            // Two stars are one, unless an option of the shell says otherwise.
            Atom::Live('*') if pattern.ends_with('*') => {}
            Atom::Live(character @ ('*' | '?')) => pattern.push(*character),
            Atom::Fixed('\\') | Atom::Unknown => return None,
            Atom::Live(character @ ('[' | '{' | '}')) | Atom::Fixed(character @ ('[' | '{' | '}' | '*' | '?')) => {
                pattern.push('[');
                pattern.push(*character);
                pattern.push(']');
            }
            Atom::Live(character) | Atom::Fixed(character) => pattern.push(*character),
        }
    }
    Some(pattern)
}
