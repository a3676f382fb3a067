//! Commands that take a script as text: `eval`, `trap`, `alias`, `su -c`, `watch`, `ssh` and others.
//!
//! Invariant: an unknown text is a doubt, and so is everything that makes it unclear when or where a known text runs.

use super::{
    options::{OptionTable, parse_options},
    unwrapped::{ScriptScope, Unwrapped, WrappedRun, joined},
};
use crate::{
    analysis::{DoubtKind, Word},
    budget::quoted,
};

const SU: OptionTable = OptionTable {
    flags: "lmpPf",
    values: "cgGw",
    long_flags: &["login", "preserve-environment", "pty"],
    long_values: &["command", "group", "supp-group", "whitelist-environment"],
};
const SSH: OptionTable =
    OptionTable { flags: "46AaCfgKkNnqsTtVvXxYy", values: "BbcDEeIiJLlmOpQRSWw", long_flags: &[], long_values: &[] };
const WATCH: OptionTable = OptionTable {
    flags: "bcdegptxwr",
    values: "n",
    long_flags: &["beep", "color", "differences", "errexit", "chgexit", "no-title", "exec", "precise"],
    long_values: &["interval"],
};
const SCRIPT: OptionTable = OptionTable {
    flags: "aefq",
    values: "cE",
    long_flags: &["append", "return", "flush", "quiet"],
    long_values: &["command", "echo"],
};
const FLOCK: OptionTable = OptionTable {
    flags: "ensuxoF",
    values: "wE",
    long_flags: &["shared", "exclusive", "unlock", "nonblock", "nb", "close", "no-fork", "verbose"],
    long_values: &["timeout", "wait", "conflict-exit-code"],
};
const PARALLEL: OptionTable = OptionTable {
    flags: "0kvtuq",
    values: "jnNIa",
    long_flags: &["null", "keep-order", "verbose", "ungroup", "will-cite", "bar", "halt-on-error"],
    long_values: &["jobs", "max-args", "halt", "delay", "timeout"],
};

pub(super) fn unwrap(name: &str, argv: &[Word]) -> Unwrapped {
    let words = argv.get(1..).unwrap_or_default();
    match name {
        "eval" => evaluated(words),
        "trap" => trap(words),
        "alias" => alias(words),
        "su" => su(words),
        "ssh" => ssh(words),
        "watch" => watch(words),
        "script" => with_command("script", words, &SCRIPT),
        "flock" => flock(words),
        "parallel" => parallel(words),
        _ => Unwrapped::ordinary(),
    }
}

fn without_dashes(words: &[Word]) -> &[Word] {
    match words {
        [Word::Literal(dashes), rest @ ..] if dashes == "--" => rest,
        _ => words,
    }
}

fn evaluated(words: &[Word]) -> Unwrapped {
    match joined(without_dashes(words)) {
        Some(text) => Unwrapped::script(text, ScriptScope::Here),
        None => Unwrapped::doubted(DoubtKind::ForeignCode, "what `eval` runs"),
    }
}

fn trap(words: &[Word]) -> Unwrapped {
    match without_dashes(words) {
        [Word::Literal(code), _, ..] if code == "-" || code.is_empty() || code.starts_with('-') => {
            Unwrapped::ordinary()
        }
        [Word::Literal(code), _, ..] => Unwrapped::script(code.clone(), ScriptScope::Later),
        [_, _, ..] => Unwrapped::doubted(DoubtKind::ForeignCode, "what `trap` runs"),
        _ => Unwrapped::ordinary(),
    }
}

/// Unwraps `alias`, with a doubt: later uses of the name are not tracked.
fn alias(words: &[Word]) -> Unwrapped {
    let mut unwrapped = Unwrapped::ordinary();
    for word in words {
        if let Some((name, code)) = word.shown().split_once('=') {
            let about = format!("{} is made an alias", quoted(name));
            unwrapped.doubts.push((DoubtKind::Construct, about));
            unwrapped.runs.push(WrappedRun::Script {
                text: code.to_owned(),
                place: ScriptScope::Later,
                arguments: Vec::new(),
            });
        }
    }
    unwrapped
}

fn su(words: &[Word]) -> Unwrapped {
    let (mut given, rest) = match parse_options(words, &SU) {
        Ok(parse_options) => parse_options,
        Err(option) => return Unwrapped::option("su", &option),
    };
    let rest = match rest {
        [Word::Literal(dash), rest @ ..] if dash == "-" => rest,
        rest => rest,
    };
    match parse_options(rest.get(1..).unwrap_or_default(), &SU) {
        Ok((more, [])) => given.extend(more),
        Ok((_, [odd, ..])) => return Unwrapped::option("su", odd.shown()),
        Err(option) => return Unwrapped::option("su", &option),
    }
    command_of("su", given)
}

/// Returns the script after `-c`; the wrapper stays in the list.
fn command_of(name: &str, given: Vec<(String, Option<Word>)>) -> Unwrapped {
    match given.into_iter().rev().find(|(option, _)| matches!(option.as_str(), "c" | "command")) {
        Some((_, Some(Word::Literal(text)))) => Unwrapped::script(text, ScriptScope::Elsewhere).and_kept(),
        // A shell that reads its standard input, or an unknown text.
        _ => Unwrapped::doubted(DoubtKind::ForeignCode, format!("what `{name}` runs")),
    }
}

fn with_command(name: &str, words: &[Word], options: &OptionTable) -> Unwrapped {
    match parse_options(words, options) {
        Ok((given, _)) => command_of(name, given),
        Err(option) => Unwrapped::option(name, &option),
    }
}

fn ssh(words: &[Word]) -> Unwrapped {
    let (_, rest) = match parse_options(words, &SSH) {
        Ok(parse_options) => parse_options,
        Err(option) => return Unwrapped::option("ssh", &option),
    };
    let rest = match parse_options(rest.get(1..).unwrap_or_default(), &SSH) {
        Ok((_, rest)) => rest,
        Err(option) => return Unwrapped::option("ssh", &option),
    };
    match joined(rest) {
        Some(text) if text.is_empty() => Unwrapped::ordinary(),
        Some(text) => Unwrapped::script(text, ScriptScope::Elsewhere).and_kept(),
        None => Unwrapped::doubted(DoubtKind::ForeignCode, "what `ssh` runs"),
    }
}

fn watch(words: &[Word]) -> Unwrapped {
    let (given, rest) = match parse_options(words, &WATCH) {
        Ok(parse_options) => parse_options,
        Err(option) => return Unwrapped::option("watch", &option),
    };
    if given.iter().any(|(option, _)| matches!(option.as_str(), "x" | "exec")) {
        return Unwrapped::program(rest.to_vec());
    }
    match joined(rest) {
        Some(text) => Unwrapped::script(text, ScriptScope::Apart),
        None => Unwrapped::doubted(DoubtKind::ForeignCode, "what `watch` runs"),
    }
}

fn flock(words: &[Word]) -> Unwrapped {
    let rest = match parse_options(words, &FLOCK) {
        Ok((_, rest)) => rest,
        Err(option) => return Unwrapped::option("flock", &option),
    };
    match rest {
        [_, Word::Literal(option), Word::Literal(text)] if option == "-c" || option == "--command" => {
            Unwrapped::script(text.clone(), ScriptScope::Apart).and_kept()
        }
        [_, Word::Literal(option), ..] if option.starts_with('-') => Unwrapped::option("flock", option),
        [_, command @ ..] if !command.is_empty() => Unwrapped::program(command.to_vec()).and_kept(),
        _ => Unwrapped::ordinary(),
    }
}

fn parallel(words: &[Word]) -> Unwrapped {
    let rest = match parse_options(words, &PARALLEL) {
        Ok((_, rest)) => rest,
        Err(option) => return Unwrapped::option("parallel", &option),
    };
    let end = rest.iter().position(|word| word.shown().starts_with(":::")).unwrap_or(rest.len());
    match joined(rest.get(..end).unwrap_or_default()) {
        Some(text) if !text.is_empty() => Unwrapped::script(text, ScriptScope::Apart)
            .and_doubt(DoubtKind::ForeignCode, "the arguments that `parallel` adds"),
        _ => Unwrapped::doubted(DoubtKind::ForeignCode, "what `parallel` runs"),
    }
}
