//! Parsing of options and operands, by the rules that most programs follow.

use crate::shell::Word;

/// One parsed argument of a program.
pub(crate) enum Argument<'a> {
    /// An option with its value, if it has one; without dashes.
    Option(&'a str, Option<Word>),
    /// Any other argument.
    Operand(&'a Word),
}

/// Separates options from operands. `valued` lists the options that take a value; a prefix of a long option stands for
/// it, as in most programs.
pub(crate) fn parse_arguments<'a>(arguments: &'a [Word], valued: &[&'static str]) -> Vec<Argument<'a>> {
    let takes_value = |name: &str| valued.iter().copied().find(|option| *option == name);
    let begins = |name: &str| {
        let long = || valued.iter().copied().filter(|option| option.len() > 1);
        long().find(|option| *option == name).or_else(|| long().find(|option| option.starts_with(name)))
    };
    let mut told = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = match word {
            Word::Literal(text) if text.starts_with('-') && text != "-" => text.as_str(),
            word => {
                told.push(Argument::Operand(word));
                continue;
            }
        };
        if text == "--" {
            told.extend(words.by_ref().map(Argument::Operand));
        } else if let Some(long) = text.strip_prefix("--") {
            match long.split_once('=') {
                Some((name, value)) => {
                    told.push(Argument::Option(begins(name).unwrap_or(name), Some(Word::Literal(value.to_owned()))));
                }
                None => match begins(long) {
                    Some(option) if option == long => told.push(Argument::Option(option, words.next().cloned())),
                    // The prefix may be a complete option of another name, so the next word is parsed again.
                    Some(option) => told.push(Argument::Option(option, words.clone().next().cloned())),
                    None => told.push(Argument::Option(long, None)),
                },
            }
        } else if text.len() > 2
            && let Some(option) = takes_value(&text[1..])
        {
            // Some programs have long names after one dash.
            told.push(Argument::Option(option, words.next().cloned()));
        } else {
            short_options(&text[1..], &takes_value, &mut words, &mut told);
        }
    }
    told
}

/// Parses `-rfo x` and `-ox`: the value of a letter is the rest of the word, or else the next word.
fn short_options<'a>(
    letters: &'a str,
    takes_value: &impl Fn(&str) -> Option<&'static str>,
    words: &mut std::slice::Iter<'a, Word>,
    told: &mut Vec<Argument<'a>>,
) {
    for (at, letter) in letters.char_indices() {
        let name = &letters[at..at + letter.len_utf8()];
        if takes_value(name).is_none() {
            told.push(Argument::Option(name, None));
            continue;
        }
        let rest = &letters[at + letter.len_utf8()..];
        let value = if rest.is_empty() { words.next().cloned() } else { Some(Word::Literal(rest.to_owned())) };
        told.push(Argument::Option(name, value));
        return;
    }
}
