//! `env`.
//!
//! Invariant: a variable that `env` sets counts like an assignment in front of the command.

use super::{
    options::{OptionTable, parse_options},
    unwrapped::{Unwrapped, WrappedRun},
};
use crate::{
    analysis::{Assignment, DoubtKind, Word},
    syntax::is_name,
};

const OPTIONS: OptionTable = OptionTable {
    flags: "iv",
    values: "uCS",
    long_flags: &["ignore-environment", "debug"],
    long_values: &["unset", "chdir", "split-string"],
};

/// How often nested strings are split.
const MOST_SPLITS: usize = 4;

pub(super) fn unwrap(argv: &[Word]) -> Unwrapped {
    let mut words = argv.get(1..).unwrap_or_default().to_vec();
    let mut assignments = Vec::new();
    let mut directory = None;
    for _ in 0..MOST_SPLITS {
        let (given, rest) = match parse_options(&words, &OPTIONS) {
            Ok(parse_options) => parse_options,
            Err(option) => return Unwrapped::option("env", &option),
        };
        let mut split = None;
        for (option, value) in given {
            match option.as_str() {
                "C" | "chdir" => directory = value,
                "S" | "split-string" => split = value,
                _ => {}
            }
        }
        let mut rest = rest;
        if let [Word::Literal(dash), after @ ..] = rest
            && dash == "-"
        {
            rest = after;
        }
        if let Some(split) = split {
            // The quotes and variables of `env -S` are a separate language.
            match split.literal().filter(|text| !text.contains(['\'', '"', '\\', '$', '#', '\n'])) {
                Some(text) => {
                    let pieces = text.split([' ', '\t']).filter(|piece| !piece.is_empty());
                    words = pieces.map(|piece| Word::Literal(piece.to_owned())).chain(rest.iter().cloned()).collect();
                    continue;
                }
                None => return Unwrapped::doubted(DoubtKind::Construct, "the string of `env -S`"),
            }
        }
        while let [Word::Literal(word), after @ ..] = rest
            && word.contains('=')
        {
            match assignment(word) {
                Some(assignment) => assignments.push(assignment),
                // `env` can set names that a shell cannot.
                None => {
                    return Unwrapped::doubted(DoubtKind::Environment, "`env` sets a variable with an invalid name");
                }
            }
            rest = after;
        }
        if rest.is_empty() {
            return Unwrapped::ordinary();
        }
        let run = WrappedRun::Program { argv: rest.to_vec(), assignments, directory, input: None };
        return Unwrapped { kept: false, runs: vec![run], doubts: Vec::new() };
    }
    Unwrapped::doubted(DoubtKind::TooMuch, "`env -S` in `env -S`")
}

/// Parses `name=value`.
pub(super) fn assignment(word: &str) -> Option<Assignment> {
    let (name, value) = word.split_once('=')?;
    is_name(name).then(|| Assignment { name: name.to_owned(), value: Word::Literal(value.to_owned()) })
}
