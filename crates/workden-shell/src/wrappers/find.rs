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
            if let [program] | [program, Word::Pattern(_) | Word::Unknown(_)] = argv.as_slice()
                && super::program(program).is_some_and(super::shells::is_shell)
            {
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
        // does not intend these.
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
    let follows = |word: &Word| matches!(word.shown(), "-L" | "-H" | "-follow" | "-files0-from");
    let below = starts.iter().map(|start| match start {
        Word::Literal(start) if !start.contains(['*', '?', '[', '{', '\\', '~']) => Some(Word::Pieces(start.clone())),
        _ => None,
    });
    below.collect::<Option<Vec<Word>>>().filter(|_| !words.iter().any(follows))
}

/// How many patterns stand for the found names.
const MOST_PATTERNS: usize = 8;

/// Returns the names that `find` looks for, if each of its alternatives has one.
fn names<'a>(words: &[&'a str]) -> Option<Vec<&'a str>> {
    let follows = ["-L", "-H", "-follow", "-files0-from", ","];
    if words.iter().any(|word| follows.contains(word)) {
        return None;
    }
    let mut names = Vec::new();
    let alternatives: Vec<&[&str]> = words.split(|word| matches!(*word, "-o" | "-or")).collect();
    for alternative in &alternatives {
        if alternative.contains(&"-prune") && alternatives.len() > 1 {
            continue;
        }
        let mut found = 0;
        for (at, pair) in alternative.windows(2).enumerate() {
            let negated = at > 0 && matches!(alternative[at - 1], "!" | "-not");
            if matches!(pair[0], "-name" | "-iname") && !negated {
                names.push(pair[1]);
                found += 1;
            }
        }
        // A group that is negated as a whole says nothing about the names outside of it.
        let negates_group = alternative.windows(2).any(|pair| matches!(pair[0], "!" | "-not") && pair[1] == "(");
        if found != 1 || negates_group {
            return None;
        }
    }
    (!names.is_empty()).then_some(names)
}
