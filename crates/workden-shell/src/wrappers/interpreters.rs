//! Commands that are not unwrapped: builtins, and programs that run their input.
//!
//! Invariant: such a command stays in the list unchanged.

use super::{builtins, shells, unwrapped::Unwrapped};
use crate::analysis::{DoubtKind, Invocation, StandardInput, Word};

/// Programs that run their standard input, unless their arguments name something else to run.
const INTERPRETERS: &[&str] =
    &["perl", "ruby", "node", "nodejs", "php", "lua", "tclsh", "osascript", "deno", "bun", "R"];
/// Programs that always run their standard input.
const SCHEDULERS: &[&str] = &["at", "batch", "crontab"];

pub(super) fn unwrap(name: &str, argv: &[Word], invocation: &Invocation) -> Unwrapped {
    let mut unwrapped = Unwrapped::ordinary();
    let words = argv.get(1..).unwrap_or_default();
    builtins::doubts(name, words, &invocation.directories, &mut unwrapped.doubts);
    if matches!(name, "source" | ".") && words.first().is_some_and(|word| word.literal().is_none()) {
        unwrapped.doubts.push((DoubtKind::ForeignCode, format!("the script that `{name}` runs")));
    }
    // Code with a known text is examined later, with the other code of its language.
    let is_known = invocation.fed.is_some();
    let runs_input = invocation.input == StandardInput::Fed
        && (SCHEDULERS.contains(&name)
            || (!is_known && is_interpreter(name) && reads_its_program(words))
            || (matches!(name, "source" | ".") && words.first().is_none_or(shells::is_stdin)));
    if runs_input {
        unwrapped.doubts.push((DoubtKind::ForeignCode, format!("`{name}` runs its standard input")));
    }
    unwrapped
}

fn is_interpreter(name: &str) -> bool {
    let python = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    let is_version = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    INTERPRETERS.contains(&name) || python.is_some_and(is_version)
}

/// Whether no word is a program or names one.
fn reads_its_program(words: &[Word]) -> bool {
    words.iter().all(|word| {
        let text = word.shown();
        let gives = ["-c", "-m", "-e", "-r", "-p", "-E", "-V", "--version", "--eval", "--print", "--help", "-h"];
        shells::is_stdin(word) || (text.starts_with('-') && !gives.contains(&text))
    })
}

/// Unwraps an applet: `busybox rm` is `rm`.
pub(super) fn applet(name: &str, argv: &[Word]) -> Unwrapped {
    match argv.get(1..) {
        Some([Word::Literal(applet), ..]) if applet.starts_with('-') => Unwrapped::option(name, applet),
        Some(rest @ [_, ..]) => Unwrapped::program(rest.to_vec()),
        _ => Unwrapped::ordinary(),
    }
}
