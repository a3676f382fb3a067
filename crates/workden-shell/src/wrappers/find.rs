//! `find ... -exec`.
//!
//! Invariant: `find` itself stays in the list, because it reads directories and can delete; each command after `-exec`
//! is listed too, with a pattern for the found files if one can be given.

use super::unwrapped::{Unwrapped, WrappedRun};
use crate::analysis::{DoubtKind, Word};

pub(super) fn unwrap(argv: &[Word]) -> Unwrapped {
    let mut unwrapped = Unwrapped::ordinary();
    let words = argv.get(1..).unwrap_or_default();
    let found = found(words);
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
            unwrapped.doubts.push((DoubtKind::NotLiteral, "the files that `find` finds".to_owned()));
        }
        if argv.is_empty() {
            unwrapped.doubts.push((DoubtKind::Construct, "`find -exec` without a command".to_owned()));
        } else {
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

/// Returns the words that `{}` stands for: the names below the starting point that one `-name` matches.
fn found(words: &[Word]) -> Vec<Word> {
    let unknown = || vec![Word::Unknown("{}".to_owned())];
    let is_start = |word: &&Word| word.literal().is_none_or(|text| !text.starts_with(['-', '(', '!', ')']));
    let starts: Vec<&Word> = words.iter().take_while(is_start).collect();
    let start = match starts.as_slice() {
        [] => ".",
        [Word::Literal(start)] => start.as_str(),
        _ => return unknown(),
    };
    let is_name = |word: &Word| matches!(word.literal(), Some("-name" | "-iname"));
    let names: Vec<&Word> =
        words.iter().zip(words.iter().skip(1)).filter(|(option, _)| is_name(option)).map(|(_, name)| name).collect();
    let odd = |word: &Word| {
        let combines = ["-o", "-or", "!", "-not", ",", "("];
        let follows = ["-L", "-H", "-follow", "-files0-from"];
        word.literal().is_none_or(|text| combines.contains(&text) || follows.contains(&text))
    };
    let [Word::Literal(name)] = names.as_slice() else { return unknown() };
    let special = ['[', '{', '\\'];
    if words.iter().any(odd) || start.contains(['*', '?']) || start.contains(special) || name.contains(special) {
        return unknown();
    }
    let below = format!("{}/**/", start.trim_end_matches('/'));
    let mut found = vec![Word::Pattern(format!("{below}{name}"))];
    // The `*` and `?` of `find` match hidden names as well, unlike those of a shell. A pattern for an extension does
    // not intend these.
    if name.starts_with("*.") {
        return found;
    }
    if name.starts_with('*') {
        found.push(Word::Pattern(format!("{below}.{name}")));
    } else if let Some(rest) = name.strip_prefix('?') {
        found.push(Word::Pattern(format!("{below}.{rest}")));
    }
    found
}
