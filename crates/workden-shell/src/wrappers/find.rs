//! `find ... -exec`.
//!
//! Invariant: `find` itself stays in the list, because it reads directories and can delete; each command after `-exec`
//! is listed too, with a pattern for the found files if one can be given.

use super::unwrapped::{Unwrapped, WrappedRun};
use crate::analysis::{DoubtKind, Word};

pub(super) fn unwrap(argv: &[Word]) -> Unwrapped {
    let mut unwrapped = Unwrapped::ordinary();
    let words = argv.get(1..).unwrap_or_default();
    let found = match found(words) {
        unknown if matches!(unknown.as_slice(), [Word::Unknown(_)]) => below(words).unwrap_or(unknown),
        found => found,
    };
    let mut rest = words;
    while let Some(at) = rest.iter().position(runs_something) {
        let command = rest.get(at + 1..).unwrap_or_default();
        let Some(end) = end(command) else {
            unwrapped.doubts.push((DoubtKind::Construct, "`find -exec` without an end".to_owned()));
            return unwrapped;
        };
        let mut argv = Vec::new();
        for word in command.get(..end).unwrap_or_default() {
            match word {
                Word::Literal(text) if text == "{}" => argv.extend(found.iter().cloned()),
                Word::Literal(text) if text.contains("{}") => argv.push(Word::Unknown(text.clone())),
                word => argv.push(word.clone()),
            }
        }
        if argv.iter().any(|word| matches!(word, Word::Unknown(_))) {
            unwrapped.doubts.push((DoubtKind::Argument, "the files that `find` finds".to_owned()));
        }
        if argv.is_empty() {
            unwrapped.doubts.push((DoubtKind::Construct, "`find -exec` without a command".to_owned()));
        } else {
            let is_shell = argv.first().and_then(super::program).is_some_and(super::shells::is_shell);
            if is_shell && !argv.iter().any(|word| word.literal().is_some_and(|text| text.starts_with('-'))) {
                unwrapped.doubts.push((DoubtKind::ForeignCode, "what `find` finds runs in a shell".to_owned()));
            }
            // With `-execdir` the directory differs for each file.
            let apart = rest.get(at).and_then(Word::literal).is_some_and(|word| word.ends_with("dir"));
            let directory = apart.then(|| Word::Unknown("-execdir".to_owned()));
            unwrapped.runs.push(WrappedRun::Program { argv, assignments: Vec::new(), directory, input: None });
        }
        rest = command.get(end + 1..).unwrap_or_default();
    }
    unwrapped
}

fn runs_something(word: &Word) -> bool {
    matches!(word.literal(), Some("-exec" | "-execdir" | "-ok" | "-okdir"))
}

/// Returns the end of the command: at `;`, or at `+` after `{}`.
fn end(command: &[Word]) -> Option<usize> {
    command.iter().enumerate().position(|(at, word)| match word.literal() {
        Some(";") => true,
        Some("+") => at > 0 && command.get(at - 1).and_then(Word::literal) == Some("{}"),
        _ => false,
    })
}

/// Returns the words that `{}` stands for: the names below the starting points that `-name` matches.
pub(crate) fn found(words: &[Word]) -> Vec<Word> {
    let unknown = || vec![Word::Unknown("{}".to_owned())];
    let is_start = |word: &&Word| word.literal().is_none_or(|text| !text.starts_with(['-', '(', '!', ')']));
    let words = match words {
        [Word::Literal(option), rest @ ..] if option == "-P" => rest,
        words => words,
    };
    let starts: Vec<&Word> = words.iter().take_while(is_start).collect();
    // The command of `-exec` is not a condition, but an alternative after it is.
    let command = words.iter().position(runs_something).unwrap_or(words.len());
    let (conditions, commands) = words.split_at(command);
    let literals: Option<Vec<&str>> = conditions.iter().map(Word::literal).collect();
    if commands.iter().any(|word| matches!(word.shown(), "-o" | "-or" | ",")) {
        return unknown();
    }
    let Some(names) = literals.as_deref().and_then(names) else { return unknown() };
    let starts: Vec<&str> = if starts.is_empty() { vec!["."] } else { starts.into_iter().map(Word::shown).collect() };
    let special = ['[', '{', '\\'];
    let odd = starts.iter().any(|start| start.contains(['*', '?']) || start.contains(special) || start.is_empty());
    if odd || names.iter().any(|name| name.contains(special)) || starts.len() * names.len() > MOST_PATTERNS {
        return unknown();
    }
    let mut found = Vec::new();
    for (start, name) in starts.iter().flat_map(|start| names.iter().map(move |name| (start, name))) {
        let below = format!("{}/**/", start.trim_end_matches('/'));
        found.push(Word::Pattern(format!("{below}{name}")));
        // The `*` and `?` of `find` match hidden names as well, unlike those of a shell. A pattern for an extension
        // means a name that is only the extension, too, but does not intend others.
        if let Some(extension) = name.strip_prefix('*').filter(|rest| rest.starts_with('.')) {
            found.push(Word::Pattern(format!("{below}{extension}")));
            continue;
        }
        if name.starts_with('*') && name.contains('.') {
            continue;
        }
        if name.starts_with('*') {
            found.push(Word::Pattern(format!("{below}.{name}")));
        } else if let Some(rest) = name.strip_prefix('?') {
            found.push(Word::Pattern(format!("{below}.{rest}")));
        }
    }
    found
}

/// Returns the directories in which `find` looks, for names that are only known to be in them.
pub(crate) fn below(words: &[Word]) -> Option<Vec<Word>> {
    let is_start = |word: &&Word| !word.shown().starts_with(['-', '(', '!']);
    let starts: Vec<&Word> = words.iter().take_while(is_start).collect();
    let here = Word::Literal(".".to_owned());
    let starts = if starts.is_empty() { vec![&here] } else { starts };
    let follows = |word: &Word| {
        matches!(word.shown(), "-L" | "-H" | "-P" | "-follow" | "-files0-from")
            || word.shown().starts_with("-O")
            || word.shown().starts_with("-D")
    };
    let below = starts.iter().map(|start| match start {
        Word::Literal(start) if !start.contains(['*', '?', '[', '{', '\\', '~']) => Some(Word::Pieces(start.clone())),
        _ => None,
    });
    below.collect::<Option<Vec<Word>>>().filter(|_| !words.iter().any(follows))
}

/// How many patterns stand for the found names.
const MOST_PATTERNS: usize = 8;

/// Tests and actions of `find` that only narrow what it finds, or print it, and how many words follow them.
#[rustfmt::skip]
const NARROWS: &[(&str, usize)] = &[
    ("-type", 1), ("-maxdepth", 1), ("-mindepth", 1), ("-newer", 1), ("-size", 1), ("-mtime", 1), ("-mmin", 1), ("-empty", 0),
    ("-print", 0), ("-print0", 0), ("-executable", 0), ("-perm", 1), ("-user", 1), ("-path", 1), ("-xdev", 0), ("-a", 0),
    ("(", 0), (")", 0),
];

/// Returns the names that `find` looks for, if each of its alternatives has one.
fn names<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let mut names = Vec::new();
    let mut found = 0;
    let mut prunes = false;
    let mut words = words.iter().skip_while(|word| !word.starts_with(['-', '(', '!'])).copied();
    while let Some(word) = words.next() {
        match word {
            "-name" => {
                names.push(words.next()?);
                found += 1;
            }
            "!" | "-not" => match words.next()? {
                "-name" | "-iname" | "-path" | "-type" => drop(words.next()?),
                _ => return None,
            },
            // Without an alternative after it, it only narrows.
            "-prune" => prunes = true,
            "-o" | "-or" => {
                if found != 1 || prunes {
                    return None;
                }
                found = 0;
            }
            word => {
                let (_, values) = NARROWS.iter().find(|(test, _)| *test == word)?;
                for _ in 0..*values {
                    words.next()?;
                }
            }
        }
    }
    (found == 1).then_some(names)
}
