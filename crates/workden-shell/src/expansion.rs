//! The expansion of a word: a text, a pattern of names, or unknown until the shell runs.
//!
//! Invariant: a [`Word::Literal`] is what the program gets, byte for byte, except that a literal tilde is written
//! `./~`, so that it is not read as a home directory.

use crate::{
    analysis::Word,
    braces::{self, Atom},
    syntax::{RawWord, Splitting, WordPart},
    values::{Scope, Value},
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
pub(super) fn expanded(word: &RawWord, braces: BraceExpansion, scope: Scope<'_>) -> Vec<Word> {
    if let Some(text) = word.plain()
        && !text.contains(['{', '~', '*', '?', '['])
    {
        return vec![Word::Literal(text.to_owned())];
    }
    if let Some(words) = split(&word.parts, scope) {
        return words;
    }
    let pieces = pieces(&word.parts, scope);
    if !pieces.iter().all(|piece| matches!(piece, Piece::Atoms(_))) {
        return composed(&pieces, &word.written);
    }
    let atoms = flat(pieces);
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
pub(super) fn file(word: &RawWord, scope: Scope<'_>) -> Word {
    // In sh this is a file with another name.
    if word.written.contains("$'") {
        return Word::Unknown(word.written.clone());
    }
    let mut words = expanded(word, BraceExpansion::Refuse, scope);
    match words.pop() {
        Some(only) if words.is_empty() => only,
        _ => Word::Unknown(word.written.clone()),
    }
}

/// Returns the text of the parts, if all of it is known and nothing in it is split.
pub(super) fn text(parts: &[WordPart], scope: Scope<'_>) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            WordPart::Plain(piece) | WordPart::Quoted(piece) => text.push_str(piece),
            part => match scope.part(part)? {
                Value::Text(piece) => text.push_str(&piece),
                Value::Name(_)
                | Value::Names(_)
                | Value::Stamp(_)
                | Value::Words(_)
                | Value::Number
                | Value::Count
                | Value::Token => {
                    return None;
                }
            },
        }
    }
    Some(text)
}

/// Returns what is known about the value of an assignment, in which nothing is split and no pattern expands.
pub(super) fn value(parts: &[WordPart], scope: Scope<'_>) -> Option<Value> {
    let is_empty = |part: &&WordPart| matches!(part, WordPart::Plain(text) | WordPart::Quoted(text) if text.is_empty());
    // A tilde is the home directory, at the start and after a colon.
    let is_home =
        |part: &WordPart| matches!(part, WordPart::Plain(text) if text.starts_with('~') || text.contains(":~"));
    if parts.iter().any(is_home) {
        return None;
    }
    if let [WordPart::Plain(empty), WordPart::Array(words)] = parts
        && empty.is_empty()
    {
        let words: Vec<Word> = words.iter().flat_map(|word| expanded(word, BraceExpansion::Refuse, scope)).collect();
        let is_known = |word: &Word| matches!(word, Word::Literal(text) if !text.starts_with('['));
        return words.iter().all(is_known).then_some(Value::Words(words));
    }
    let mut filled = parts.iter().filter(|part| !is_empty(part));
    if let (Some(only @ (WordPart::Parameter(_) | WordPart::Command { .. })), None) = (filled.next(), filled.next()) {
        // Words of an array become one text.
        return scope.part(only).filter(|value| !matches!(value, Value::Words(_)));
    }
    if parts.iter().any(|part| matches!(part, WordPart::Number | WordPart::Arithmetic(_)))
        && parts.iter().filter(|part| !is_empty(part)).count() == 1
    {
        return Some(Value::Number);
    }
    if let Some(text) = text(parts, scope) {
        return Some(Value::Text(text));
    }
    // Text in an assignment is literal, so it is quoted here.
    let pieces: Vec<Piece> = parts
        .iter()
        .map(|part| match part {
            WordPart::Plain(text) | WordPart::Quoted(text) => Piece::Atoms(text.chars().map(Atom::Fixed).collect()),
            part => piece(scope.part(part), Splitting::Whole),
        })
        .collect();
    match composed(&pieces, "").as_slice() {
        [Word::Pattern(pattern)] => Some(Value::Name(pattern.clone())),
        [Word::Stamp(pattern)] => Some(Value::Stamp(pattern.clone())),
        [Word::Token(_)] => Some(Value::Token),
        _ => None,
    }
}

/// A piece of a word, with the value of an expansion.
enum Piece {
    Atoms(Vec<Atom>),
    /// A part of the name of a file, as a pattern.
    Name(String),
    /// Parts of names of files, as patterns.
    Names(Vec<String>),
    /// Digits and letters, as a pattern.
    Stamp(String),
    Token,
    Unknown,
}

fn pieces(parts: &[WordPart], scope: Scope<'_>) -> Vec<Piece> {
    let is_empty = |part: &&WordPart| matches!(part, WordPart::Plain(text) | WordPart::Quoted(text) if text.is_empty());
    let alone = parts.iter().filter(|part| !is_empty(part)).count() == 1;
    let mut filled = parts.iter().filter(|part| !is_empty(part));
    let at_home = filled.next().is_some_and(is_home)
        && filled
            .next()
            .is_none_or(|next| matches!(next, WordPart::Plain(text) | WordPart::Quoted(text) if text.starts_with('/')))
        && !scope.assigned.contains("HOME");
    let each = parts.iter().map(|part| match part {
        part if at_home && is_home(part) => Piece::Atoms(vec![Atom::Live('~')]),
        WordPart::Plain(text) => Piece::Atoms(text.chars().map(Atom::Live).collect()),
        WordPart::Quoted(text) => Piece::Atoms(text.chars().map(Atom::Fixed).collect()),
        part => {
            let splitting = match part {
                WordPart::Parameter(parameter) => parameter.splitting,
                WordPart::Command { splitting, .. } => *splitting,
                _ => Splitting::Whole,
            };
            match scope.part(part) {
                // The status of a command alone does not matter; other numbers could be a process or a mode.
                Some(Value::Number) if alone && matches!(part, WordPart::Number) => {
                    Piece::Atoms(vec![Atom::Fixed('0')])
                }
                value => piece(value, splitting),
            }
        }
    });
    each.collect()
}

/// Whether this is `$HOME`.
fn is_home(part: &WordPart) -> bool {
    matches!(part, WordPart::Parameter(parameter)
        if parameter.name.as_deref() == Some("HOME") && parameter.inner.is_empty())
}

fn piece(value: Option<Value>, splitting: Splitting) -> Piece {
    match (value, splitting) {
        (Some(Value::Text(text)), Splitting::Whole) => Piece::Atoms(text.chars().map(Atom::Fixed).collect()),
        (Some(Value::Text(text)), Splitting::Splits) => match unsplit(&text) {
            Some(atoms) => Piece::Atoms(atoms),
            None => Piece::Unknown,
        },
        (Some(Value::Name(pattern)), Splitting::Whole) => Piece::Name(pattern),
        (Some(Value::Name(pattern)), Splitting::Splits) => Piece::Names(vec![pattern]),
        (Some(Value::Names(patterns)), _) => Piece::Names(patterns),
        (Some(Value::Number | Value::Count), _) => Piece::Stamp("*".to_owned()),
        (Some(Value::Stamp(pattern)), _) => Piece::Stamp(pattern),
        (Some(Value::Token), _) => Piece::Token,
        (Some(Value::Words(_)) | None, _) => Piece::Unknown,
    }
}

/// Returns the characters of a value that the shell does not split; patterns in it expand.
fn unsplit(text: &str) -> Option<Vec<Atom>> {
    let special = |c: char| matches!(c, ' ' | '\t' | '\n' | '\\');
    let live = |c: char| if matches!(c, '*' | '?' | '[') { Atom::Live(c) } else { Atom::Fixed(c) };
    (!text.contains(special)).then(|| text.chars().map(live).collect())
}

/// Returns the words of an expansion outside of quotes that is the whole word: its text is split at blanks.
fn split(parts: &[WordPart], scope: Scope<'_>) -> Option<Vec<Word>> {
    let is_empty = |part: &&WordPart| matches!(part, WordPart::Quoted(text) if text.is_empty());
    let mut filled = parts.iter().filter(|part| !is_empty(part));
    if let (Some(part @ WordPart::Parameter(_)), None) = (filled.next(), filled.next())
        && let Some(Value::Words(words)) = scope.part(part)
    {
        // Without quotes the words of an array are split again.
        let plain = |word: &Word| matches!(word, Word::Literal(text) if unsplit(text).is_some() && !text.is_empty());
        return (parts.len() > 1 || words.iter().all(plain)).then_some(words);
    }
    let [part @ (WordPart::Parameter(_) | WordPart::Command { .. })] = parts else { return None };
    let is_split = match part {
        WordPart::Parameter(parameter) => parameter.splitting == Splitting::Splits,
        WordPart::Command { splitting, .. } => *splitting == Splitting::Splits,
        _ => false,
    };
    let Some(Value::Text(text)) = scope.part(part).filter(|_| is_split) else { return None };
    let words = text.split([' ', '\t', '\n']).filter(|word| !word.is_empty());
    words.map(|word| unsplit(word).map(|atoms| finished(&atoms, word))).collect()
}

/// Puts a word together from text and from names that are known by their patterns.
fn composed(pieces: &[Piece], written: &str) -> Vec<Word> {
    let unknown = || vec![Word::Unknown(written.to_owned())];
    let (mut names, mut pieced, mut token, mut stamped) = (vec![String::new()], false, false, false);
    let mut globs = false;
    for piece in pieces {
        let more = match piece {
            Piece::Unknown => return unknown(),
            Piece::Token => {
                token = true;
                continue;
            }
            Piece::Atoms(atoms) => {
                let is_special = |atom: &Atom| matches!(atom, Atom::Live('{' | '}' | '~' | '[') | Atom::Fixed('\\'));
                match pattern(atoms).filter(|_| !atoms.iter().any(is_special)) {
                    Some(text) => vec![text],
                    None => return unknown(),
                }
            }
            Piece::Name(pattern) => {
                globs = true;
                vec![pattern.clone()]
            }
            Piece::Names(patterns) => {
                pieced = true;
                patterns.clone()
            }
            Piece::Stamp(pattern) => {
                stamped = true;
                vec![pattern.clone()]
            }
        };
        if names.len() * more.len() > MOST_PATTERNS {
            return unknown();
        }
        names = names.iter().flat_map(|start| more.iter().map(move |end| format!("{start}{end}"))).collect();
    }
    let is_literal = |piece: &Piece| matches!(piece, Piece::Atoms(atoms) if !atoms.is_empty());
    let first = pieces.iter().find(|piece| !matches!(piece, Piece::Atoms(atoms) if atoms.is_empty()));
    // A value that is empty would leave an absolute path, and one behind a dash another option.
    let follows_slash = pieces.iter().skip_while(|piece| !matches!(piece, Piece::Names(_) | Piece::Stamp(_))).nth(1);
    let follows_slash = matches!(follows_slash, Some(Piece::Atoms(atoms)) if matches!(atoms.first(), Some(Atom::Live('/') | Atom::Fixed('/'))));
    let is_absolute = |name: &String| follows_slash && !name.starts_with("/tmp/");
    let begins_open = first.is_some_and(|piece| !is_literal(piece) && !matches!(piece, Piece::Name(_)));
    let is_option = |name: &String| {
        let known = name.split('*').next().unwrap_or_default();
        name.starts_with('-') && !(known.len() == 2 && known != "--") && !known.contains('=')
    };
    if begins_open && names.iter().any(is_absolute) || (stamped || token) && names.iter().any(is_option) {
        return unknown();
    }
    if token {
        return if pieced { unknown() } else { vec![Word::Token(written.to_owned())] };
    }
    globs |= pieces.iter().any(|piece| match piece {
        Piece::Atoms(atoms) => atoms.iter().any(|atom| matches!(atom, Atom::Live('*' | '?'))),
        _ => false,
    });
    if stamped && !pieced && !globs {
        let is_bare = |name: &String| name.trim_matches('*').is_empty();
        return names
            .into_iter()
            .map(|name| if is_bare(&name) { Word::Token(written.to_owned()) } else { Word::Stamp(name) })
            .collect();
    }
    names.into_iter().map(|name| if pieced { Word::Pieces(name) } else { Word::Pattern(name) }).collect()
}

/// How many patterns a word may have.
const MOST_PATTERNS: usize = 8;

fn flat(pieces: Vec<Piece>) -> Vec<Atom> {
    let atoms = pieces.into_iter().map(|piece| match piece {
        Piece::Atoms(atoms) => atoms,
        Piece::Name(_) | Piece::Names(_) | Piece::Stamp(_) | Piece::Token | Piece::Unknown => vec![Atom::Unknown],
    });
    atoms.flatten().collect()
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
