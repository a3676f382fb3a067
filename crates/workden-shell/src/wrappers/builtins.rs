//! Builtins that change the meaning of a script.
//!
//! Invariant: after a builtin without a doubt, every word of the script has the same meaning as before.

use crate::{
    analysis::{DoubtKind, Word, WorkingDirectories},
    budget::quoted,
    environment::{decides_what_runs, is_harmless},
    syntax::is_name,
};

/// Names of the shell's builtins.
const BUILTINS: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
];
/// Builtins that set the variables in their arguments.
const SETTERS: &[&str] = &[
    "declare",
    "typeset",
    "local",
    "export",
    "readonly",
    "read",
    "readarray",
    "mapfile",
    "getopts",
    "unset",
    "printf",
    "wait",
];
/// Builtins that evaluate subscripts in the names in their arguments.
const SUBSCRIPTS: &[&str] =
    &["test", "[", "declare", "typeset", "local", "export", "readonly", "read", "unset", "printf", "wait"];
/// Settings that do not change the meaning of a script.
const HARMLESS: &[&str] = &["errexit", "nounset", "pipefail", "xtrace", "verbose", "noclobber"];

pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

pub(super) fn sets_variables(name: &str) -> bool {
    SETTERS.contains(&name) || name == "let"
}

/// Adds the doubts about this builtin.
pub(super) fn doubts(
    name: &str,
    words: &[Word],
    directories: &WorkingDirectories,
    doubts: &mut Vec<(DoubtKind, String)>,
) {
    if SETTERS.contains(&name) {
        for word in words {
            // The name may follow the letter of an option: `printf -vPATH`, `read -aPATH`.
            let text = word.shown();
            let text = text.strip_prefix(['-', '+']).and_then(|option| option.get(1..)).unwrap_or(text);
            let variable = text.split(['=', '[', '+']).next().unwrap_or_default();
            let value = text.split_once('=').map(|(_, value)| value);
            let is_harmless = name == "export" && value.is_none_or(|value| is_harmless(variable, value, directories));
            let is_removed = name == "unset" && !matches!(variable, "PATH" | "IFS" | "HOME");
            if decides_what_runs(variable) && !is_harmless && !is_removed {
                doubts.push((DoubtKind::Environment, format!("{} is set", quoted(variable))));
            }
        }
    }
    let evaluates = |word: &Word| {
        let (text, pattern) = (word.shown().replace("[@]", "").replace("[*]", ""), matches!(word, Word::Pattern(_)));
        text.contains('[') && (pattern && name != "[" && name != "test" || text.contains(['$', '`']))
    };
    if SUBSCRIPTS.contains(&name) && words.iter().any(evaluates) {
        doubts.push((DoubtKind::Construct, format!("a subscript that `{name}` evaluates")));
    }
    let letter = |letters: &[char]| {
        words.iter().any(|word| {
            let text = word.shown();
            text.starts_with(['-', '+']) && !text.starts_with("--") && text.contains(letters)
        })
    };
    let doubtful = match name {
        "enable" | "bind" | "complete" | "compgen" | "compopt" | "fc" | "history" => !words.is_empty(),
        "let" => !words.iter().all(is_plain_sum),
        "hash" => words.iter().any(|word| word.shown() != "-r"),
        "shopt" => letter(&['s', 'u', 'o']),
        "set" => !is_harmless_set(words),
        "mapfile" | "readarray" => letter(&['C', 'c']),
        "declare" | "typeset" | "local" | "export" | "readonly" => letter(&['n', 'i', 'f', 'F']),
        "jobs" => letter(&['x']),
        _ => false,
    };
    if doubtful {
        doubts.push((DoubtKind::Construct, format!("`{name}`, which can change the meaning of commands")));
    }
}

/// Whether a word sets a variable to numbers: `x=3+4`.
fn is_plain_sum(word: &Word) -> bool {
    let Some((name, sum)) = word.literal().and_then(|text| text.split_once('=')) else { return false };
    is_name(name) && !sum.is_empty() && sum.bytes().all(|byte| byte.is_ascii_digit() || b"+-*/%()".contains(&byte))
}

/// Whether the arguments of `set` are harmless: `set -e`, `set -o pipefail`, `set -- a b`.
fn is_harmless_set(words: &[Word]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else { return true };
        if text == "--" || !text.starts_with(['-', '+']) {
            return true;
        }
        let letters = text.trim_start_matches(['-', '+']);
        if !letters.bytes().all(|letter| b"euxvCo".contains(&letter)) {
            return false;
        }
        if letters.contains('o') {
            match words.next().and_then(Word::literal) {
                Some(setting) if HARMLESS.contains(&setting) => {}
                None => return letters == "o",
                Some(_) => return false,
            }
        }
    }
    true
}
