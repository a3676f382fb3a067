//! Shells: the argument of `-c` is a script, and so is the standard input of a shell without one.
//!
//! Invariant: only scripts for shells with the language of bash are parsed; a script for any other shell is a doubt.

use super::{
    options::{OptionTable, parse_options},
    unwrapped::{ScriptScope, Unwrapped},
};
use crate::analysis::{DoubtKind, StandardInput, Word};

/// Shells whose language is parsed here.
const UNDERSTOOD: &[&str] = &["sh", "bash", "dash", "ash"];
/// Shells with other languages.
const FOREIGN: &[&str] =
    &["zsh", "ksh", "ksh93", "mksh", "yash", "rbash", "posh", "fish", "csh", "tcsh", "pwsh", "nu", "elvish", "xonsh"];
const OPTIONS: OptionTable = OptionTable {
    flags: "aceuxvlsnCm",
    values: "o",
    long_flags: &["login", "norc", "noprofile", "verbose", "version", "help"],
    long_values: &[],
};
/// Settings that do not change the meaning of a script.
const HARMLESS: &[&str] = &["errexit", "nounset", "pipefail", "xtrace", "verbose", "noclobber", "allexport"];

pub(super) fn is_shell(name: &str) -> bool {
    UNDERSTOOD.contains(&name) || FOREIGN.contains(&name)
}

/// Whether a word names the standard input.
pub(super) fn is_stdin(word: &Word) -> bool {
    matches!(word.literal(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

pub(super) fn unwrap(name: &str, argv: &[Word], input: StandardInput, fed: Option<&str>) -> Unwrapped {
    let words = argv.get(1..).unwrap_or_default();
    if FOREIGN.contains(&name) {
        return Unwrapped::doubted(DoubtKind::ForeignCode, format!("`{name}` scripts are not supported"));
    }
    // A letter after `o` is a separate option, not the value of `o`.
    let torn = |word: &Word| {
        let letters = word.literal().and_then(|text| text.strip_prefix('-')).filter(|text| !text.starts_with('-'));
        letters.is_some_and(|letters| letters.trim_end_matches('o').contains('o'))
    };
    let options = words.iter().take_while(|word| word.shown() != "--" && word.shown().starts_with(['-', '+']));
    if let Some(option) = options.clone().find(|word| torn(word) || word.shown().starts_with('+')) {
        return Unwrapped::option(name, option.shown());
    }
    let (given, rest) = match parse_options(words, &OPTIONS) {
        Ok(parse_options) => parse_options,
        Err(option) => return Unwrapped::option(name, &option),
    };
    let has = |wanted: &str| given.iter().any(|(option, _)| option == wanted);
    let harmless = |value: &Option<Word>| {
        value.as_ref().is_none_or(|value| value.literal().is_some_and(|value| HARMLESS.contains(&value)))
    };
    if let Some((_, Some(value))) = given.iter().find(|(_, value)| !harmless(value)) {
        return Unwrapped::option(name, value.shown());
    }
    if has("c") {
        return match rest.first() {
            Some(Word::Literal(text)) => {
                // A pattern before the arguments could be several words.
                let is_plain = rest.get(1).is_none_or(|name| name.literal().is_some());
                let arguments = rest.get(2..).filter(|_| is_plain).unwrap_or_default();
                let script = Unwrapped::script(text.clone(), ScriptScope::Apart);
                match is_plain {
                    true => script.with_arguments(arguments),
                    false => script.and_doubt(DoubtKind::NotLiteral, format!("the arguments of `{name} -c`")),
                }
            }
            _ => Unwrapped::doubted(DoubtKind::ForeignCode, format!("the script of `{name} -c`")),
        };
    }
    if rest.len() > 1 && rest.first().is_some_and(is_stdin) {
        return Unwrapped::doubted(DoubtKind::ForeignCode, format!("the script of `{name} -`"));
    }
    // A word that could be nothing leaves its place to the next.
    if rest.first().is_some_and(|file| !matches!(file, Word::Literal(_) | Word::Pattern(_))) {
        return Unwrapped::doubted(DoubtKind::ForeignCode, format!("the script that `{name}` runs"));
    }
    if !has("s") && rest.first().is_some_and(|file| !is_stdin(file)) {
        return Unwrapped::ordinary();
    }
    match (input, fed) {
        (StandardInput::Fed, Some(text)) => Unwrapped::script(text.to_owned(), ScriptScope::Apart),
        (StandardInput::Fed, None) => {
            Unwrapped::doubted(DoubtKind::ForeignCode, format!("`{name}` runs its standard input"))
        }
        (StandardInput::Inherited | StandardInput::File, _) => Unwrapped::ordinary(),
    }
}
