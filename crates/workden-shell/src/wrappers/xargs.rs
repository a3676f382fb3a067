//! `xargs`.
//!
//! Invariant: the input of `xargs` is unknown, so every command that it runs has a doubt and unknown words in its
//! place.

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

pub(super) fn unwrap(argv: &[Word]) -> Unwrapped {
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
            for word in &mut argv {
                if word.shown().contains(marker) {
                    *word = Word::Unknown(word.shown().to_owned());
                }
            }
        }
        None => argv.push(Word::Unknown("...".to_owned())),
    }
    let run =
        WrappedRun::Program { argv, assignments: Vec::new(), directory: None, input: Some(StandardInput::Inherited) };
    Unwrapped {
        kept: false,
        runs: vec![run],
        doubts: vec![(DoubtKind::NotLiteral, "the arguments that `xargs` reads".to_owned())],
    }
}
