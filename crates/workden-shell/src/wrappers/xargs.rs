//! `xargs`.
//!
//! Invariant: the words that `xargs` reads are those that the command before it prints, if their form is known, and
//! unknown otherwise.

use super::{
    options::{OptionTable, parse_options},
    unwrapped::{Unwrapped, WrappedRun},
};
use crate::analysis::{DoubtKind, StandardInput, Word};

const OPTIONS: OptionTable = OptionTable {
    flags: "0rtxo",
    values: "dEILnPs",
    long_flags: &["null", "no-run-if-empty", "verbose", "exit", "open-tty"],
    long_values: &["delimiter", "max-args", "max-procs", "max-chars"],
};

pub(super) fn unwrap(argv: &[Word], input: &[Word]) -> Unwrapped {
    let (given, rest) = match parse_options(argv.get(1..).unwrap_or_default(), &OPTIONS) {
        Ok(parse_options) => parse_options,
        Err(option) => return Unwrapped::option("xargs", &option),
    };
    let replaced = given.iter().rev().find(|(option, _)| option == "I");
    let mut argv = if rest.is_empty() { vec![Word::Literal("echo".to_owned())] } else { rest.to_vec() };
    match replaced.map(|(_, value)| value.as_ref().and_then(Word::literal)) {
        // The positions of the input words are unknown as well.
        Some(None | Some("")) => return Unwrapped::doubted(DoubtKind::Construct, "the marker of `xargs -I`"),
        Some(Some(marker)) => {
            let words = argv.into_iter().flat_map(|word| match word.shown() {
                text if text == marker => read(input, text),
                text if text.contains(marker) => vec![within(text, marker, input)],
                _ => vec![word],
            });
            argv = words.collect();
        }
        None => argv.extend(read(input, "...")),
    }
    let is_unknown = argv.iter().any(|word| matches!(word, Word::Unknown(_)));
    let about = "the arguments that `xargs` reads".to_owned();
    let run =
        WrappedRun::Program { argv, assignments: Vec::new(), directory: None, input: Some(StandardInput::Inherited) };
    Unwrapped {
        kept: false,
        runs: vec![run],
        doubts: if is_unknown { vec![(DoubtKind::Argument, about)] } else { Vec::new() },
    }
}

fn read(input: &[Word], written: &str) -> Vec<Word> {
    match input {
        [] => vec![Word::Unknown(written.to_owned())],
        [Word::Stamp(_)] => vec![Word::Token(written.to_owned())],
        words => words.to_vec(),
    }
}

/// Returns a word in which the marker is a part.
fn within(text: &str, marker: &str, input: &[Word]) -> Word {
    match input {
        [Word::Stamp(number)] if !text.starts_with(['-', '/']) && !text.starts_with(marker) => {
            Word::Stamp(text.replace(marker, number))
        }
        [Word::Token(_)] if !text.starts_with('-') => Word::Token(text.to_owned()),
        _ => Word::Unknown(text.to_owned()),
    }
}
