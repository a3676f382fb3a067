//! Wrappers that have only options, and some operands, before the command.
//!
//! Invariant: the tables follow the manuals of coreutils, util-linux, sudo and bash; an option that does more than
//! prepare the command (write a file, act on another process) is not in them.

use super::{
    options::{OptionTable, parse_options},
    unwrapped::{Unwrapped, WrappedRun},
};
use crate::analysis::{DoubtKind, StandardInput, Word};

/// A wrapper and its syntax.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapper {
    name: &'static str,
    options: OptionTable,
    /// How many words are between the options and the command.
    operands: usize,
    /// Whether the wrapper stays in the list.
    kept: bool,
    /// Options that name the directory in which the command runs.
    directory: &'static [&'static str],
    /// Whether assignments may precede the command.
    assigns: bool,
}

const NONE: Wrapper = Wrapper {
    name: "",
    options: OptionTable { flags: "", values: "", long_flags: &[], long_values: &[] },
    operands: 0,
    kept: false,
    directory: &[],
    assigns: false,
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "nice",
        options: OptionTable { flags: "0123456789", values: "n", long_flags: &[], long_values: &["adjustment"] },
        ..NONE
    },
    Wrapper {
        name: "ionice",
        options: OptionTable {
            flags: "t",
            values: "cn",
            long_flags: &["ignore"],
            long_values: &["class", "classdata"],
        },
        ..NONE
    },
    Wrapper {
        name: "timeout",
        options: OptionTable {
            flags: "v",
            values: "ks",
            long_flags: &["foreground", "preserve-status", "verbose"],
            long_values: &["kill-after", "signal"],
        },
        operands: 1,
        ..NONE
    },
    Wrapper { name: "time", options: OptionTable { flags: "pqv", values: "f", ..NONE.options }, ..NONE },
    Wrapper { name: "nohup", ..NONE },
    Wrapper {
        name: "setsid",
        options: OptionTable { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..NONE.options },
        ..NONE
    },
    Wrapper {
        name: "stdbuf",
        options: OptionTable { values: "ioe", long_values: &["input", "output", "error"], ..NONE.options },
        ..NONE
    },
    Wrapper {
        name: "chrt",
        options: OptionTable { flags: "bdfiorRv", values: "TPD", ..NONE.options },
        operands: 1,
        ..NONE
    },
    Wrapper {
        name: "taskset",
        options: OptionTable { flags: "ac", long_flags: &["all-tasks", "cpu-list"], ..NONE.options },
        operands: 1,
        ..NONE
    },
    Wrapper { name: "command", options: OptionTable { flags: "p", ..NONE.options }, ..NONE },
    Wrapper { name: "builtin", ..NONE },
    Wrapper { name: "exec", options: OptionTable { flags: "cl", values: "a", ..NONE.options }, ..NONE },
    Wrapper {
        name: "sudo",
        options: OptionTable {
            flags: "AbBEHiknPsSN",
            values: "CDghpRrTtUu",
            long_flags: &[
                "askpass",
                "background",
                "login",
                "non-interactive",
                "preserve-env",
                "set-home",
                "shell",
                "stdin",
            ],
            long_values: &["chdir", "group", "host", "prompt", "chroot", "user"],
        },
        kept: true,
        directory: &["D", "chdir"],
        assigns: true,
        ..NONE
    },
    Wrapper { name: "doas", options: OptionTable { flags: "ns", values: "u", ..NONE.options }, kept: true, ..NONE },
    Wrapper {
        name: "chroot",
        options: OptionTable { long_flags: &["skip-chdir"], long_values: &["groups", "userspec"], ..NONE.options },
        operands: 1,
        kept: true,
        directory: &[],
        ..NONE
    },
    Wrapper {
        name: "nsenter",
        options: OptionTable {
            flags: "amuinpUCTFZe",
            values: "tSG",
            long_flags: &["all", "mount", "uts", "ipc", "net", "pid", "user", "cgroup", "time", "no-fork"],
            long_values: &["target", "setuid", "setgid"],
        },
        kept: true,
        ..NONE
    },
    Wrapper {
        name: "unshare",
        options: OptionTable {
            flags: "cimnpuUCTfr",
            values: "SG",
            long_flags: &[
                "ipc",
                "mount",
                "net",
                "pid",
                "uts",
                "user",
                "cgroup",
                "time",
                "fork",
                "mount-proc",
                "map-root-user",
                "map-current-user",
                "kill-child",
                "keep-caps",
            ],
            long_values: &["setuid", "setgid", "propagation", "setgroups"],
        },
        kept: true,
        ..NONE
    },
];

/// Returns the wrapper with this name.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

pub(super) fn unwrap(wrapper: &Wrapper, argv: &[Word], input: StandardInput) -> Unwrapped {
    let words = argv.get(1..).unwrap_or_default();
    let asks = |word: &Word| matches!(word.literal(), Some("-v" | "-V" | "-pv" | "-pV" | "-vp" | "-Vp"));
    if wrapper.name == "command" && words.first().is_some_and(asks) {
        return Unwrapped::ordinary();
    }
    let (given, rest) = match parse_options(words, &wrapper.options) {
        Ok(parse_options) => parse_options,
        Err(option) => return Unwrapped::option(wrapper.name, &option),
    };
    let mut rest = rest.get(wrapper.operands..).unwrap_or_default();
    let mut assignments = Vec::new();
    while wrapper.assigns
        && let [Word::Literal(word), after @ ..] = rest
        && let Some(assignment) = super::env::assignment(word)
    {
        assignments.push(assignment);
        rest = after;
    }
    if rest.is_empty() {
        let unwrapped = Unwrapped::ordinary();
        // Without a command some of these start a shell, which reads its standard input.
        return if wrapper.kept && input == StandardInput::Fed {
            unwrapped.and_doubt(DoubtKind::ForeignCode, format!("`{}` runs its standard input", wrapper.name))
        } else {
            unwrapped
        };
    }
    let mut directory = None;
    for (option, value) in given {
        if wrapper.directory.contains(&option.as_str()) {
            directory = value;
        }
    }
    if wrapper.name == "chroot" {
        directory = Some(Word::Unknown("chroot".to_owned()));
    }
    let run = WrappedRun::Program { argv: rest.to_vec(), assignments, directory, input: None };
    Unwrapped { kept: wrapper.kept, runs: vec![run], doubts: Vec::new() }
}
