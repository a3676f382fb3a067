//! Wrappers that only take options, and some operands, before the command.
//!
//! Invariant: the tables follow the manuals of coreutils, util-linux, sudo and bash; an option that
//! does more than to set the scene (write a file, act on another process) is left out of them.

use super::{
    super::analysis::{DoubtKind, Input, Word},
    Run, Unwrapped,
    options::{Known, taken},
};

/// A wrapper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wrapper {
    name: &'static str,
    known: Known,
    /// How many words stand between the options and the command.
    operands: usize,
    /// Whether it stays in the list.
    kept: bool,
    /// Options that name the directory in which the command runs.
    directory: &'static [&'static str],
    /// Whether assignments may stand before the command.
    assigns: bool,
}

const NONE: Wrapper = Wrapper {
    name: "",
    known: Known { flags: "", values: "", long_flags: &[], long_values: &[] },
    operands: 0,
    kept: false,
    directory: &[],
    assigns: false,
};

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "nice",
        known: Known { flags: "0123456789", values: "n", long_flags: &[], long_values: &["adjustment"] },
        ..NONE
    },
    Wrapper {
        name: "ionice",
        known: Known { flags: "t", values: "cn", long_flags: &["ignore"], long_values: &["class", "classdata"] },
        ..NONE
    },
    Wrapper {
        name: "timeout",
        known: Known {
            flags: "v",
            values: "ks",
            long_flags: &["foreground", "preserve-status", "verbose"],
            long_values: &["kill-after", "signal"],
        },
        operands: 1,
        ..NONE
    },
    Wrapper { name: "time", known: Known { flags: "pqv", values: "f", ..NONE.known }, ..NONE },
    Wrapper { name: "nohup", ..NONE },
    Wrapper {
        name: "setsid",
        known: Known { flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..NONE.known },
        ..NONE
    },
    Wrapper {
        name: "stdbuf",
        known: Known { values: "ioe", long_values: &["input", "output", "error"], ..NONE.known },
        ..NONE
    },
    Wrapper { name: "chrt", known: Known { flags: "bdfiorRv", values: "TPD", ..NONE.known }, operands: 1, ..NONE },
    Wrapper {
        name: "taskset",
        known: Known { flags: "ac", long_flags: &["all-tasks", "cpu-list"], ..NONE.known },
        operands: 1,
        ..NONE
    },
    Wrapper { name: "command", known: Known { flags: "p", ..NONE.known }, ..NONE },
    Wrapper { name: "builtin", ..NONE },
    Wrapper { name: "exec", known: Known { flags: "cl", values: "a", ..NONE.known }, ..NONE },
    Wrapper {
        name: "sudo",
        known: Known {
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
    Wrapper { name: "doas", known: Known { flags: "ns", values: "u", ..NONE.known }, kept: true, ..NONE },
    Wrapper {
        name: "chroot",
        known: Known { long_flags: &["skip-chdir"], long_values: &["groups", "userspec"], ..NONE.known },
        operands: 1,
        kept: true,
        directory: &[],
        ..NONE
    },
    Wrapper {
        name: "nsenter",
        known: Known {
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
        known: Known {
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

/// The wrapper of this name.
pub(super) fn find(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

pub(super) fn unwrap(wrapper: &Wrapper, argv: &[Word], input: Input) -> Unwrapped {
    let words = argv.get(1..).unwrap_or_default();
    let asks = |word: &Word| matches!(word.literal(), Some("-v" | "-V" | "-pv" | "-pV" | "-vp" | "-Vp"));
    if wrapper.name == "command" && words.first().is_some_and(asks) {
        return Unwrapped::ordinary();
    }
    let (given, rest) = match taken(words, &wrapper.known) {
        Ok(taken) => taken,
        Err(option) => return Unwrapped::option(wrapper.name, &option),
    };
    let mut rest = rest.get(wrapper.operands..).unwrap_or_default();
    let mut assignments = Vec::new();
    while wrapper.assigns
        && let [Word::Literal(word), after @ ..] = rest
        && let Some(assignment) = super::environment::assignment(word)
    {
        assignments.push(assignment);
        rest = after;
    }
    if rest.is_empty() {
        let unwrapped = Unwrapped::ordinary();
        // Without a command some of these start a shell, which reads what it is fed.
        return if wrapper.kept && input == Input::Fed {
            unwrapped.and_doubt(DoubtKind::ForeignCode, format!("what `{}` is fed would run", wrapper.name))
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
    let run = Run::Program { argv: rest.to_vec(), assignments, directory, input: None };
    Unwrapped { kept: wrapper.kept, runs: vec![run], doubts: Vec::new() }
}
