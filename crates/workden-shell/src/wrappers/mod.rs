//! Programs that run other programs: what they would run, seen through them.
//!
//! Invariant: a wrapper vanishes only if all of its options are known; otherwise the whole command
//! stays as it is, with a doubt. Those that change on whose behalf something runs are reported
//! beside what they run.

mod builtins;
mod environment;
mod find;
mod git;
mod invoke;
mod options;
mod others;
mod scripts;
mod shells;
mod table;
mod xargs;

use workden_core::VirtualPath;

use super::analysis::{Assignment, DoubtKind, Input, Invocation, Word};

/// What is behind an invocation.
#[derive(Debug, Default)]
struct Unwrapped {
    /// It stays in the list.
    kept: bool,
    /// What it runs.
    runs: Vec<Run>,
    /// What is not understood about it.
    doubts: Vec<(DoubtKind, String)>,
}

/// Something that a wrapper runs.
#[derive(Debug)]
enum Run {
    /// A program.
    Program {
        argv: Vec<Word>,
        assignments: Vec<Assignment>,
        /// The directory that it goes to first.
        directory: Option<Word>,
        input: Option<Input>,
    },
    /// A text that a shell parses.
    Script { text: String, place: Place },
}

/// Where a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In this very shell.
    Here,
    /// In a shell of its own.
    Apart,
    /// Some time later.
    Later,
    /// For somebody else, or on another machine.
    Elsewhere,
}

impl Unwrapped {
    /// An ordinary command.
    fn ordinary() -> Self {
        Self { kept: true, ..Self::default() }
    }

    /// One that stays as it is and is not understood.
    fn doubted(kind: DoubtKind, about: impl Into<String>) -> Self {
        Self { kept: true, runs: Vec::new(), doubts: vec![(kind, about.into())] }
    }

    /// A wrapper with an option that is not known.
    fn option(name: &str, option: &str) -> Self {
        Self::doubted(DoubtKind::Construct, format!("the option {} of `{name}`", super::guard::quoted(option)))
    }

    /// A wrapper that vanishes.
    fn program(argv: Vec<Word>) -> Self {
        let run = Run::Program { argv, assignments: Vec::new(), directory: None, input: None };
        Self { kept: false, runs: vec![run], doubts: Vec::new() }
    }

    /// A wrapper that vanishes before a script.
    fn script(text: String, place: Place) -> Self {
        Self { kept: false, runs: vec![Run::Script { text, place }], doubts: Vec::new() }
    }

    fn and_kept(mut self) -> Self {
        self.kept = true;
        self
    }

    fn and_doubt(mut self, kind: DoubtKind, about: impl Into<String>) -> Self {
        self.doubts.push((kind, about.into()));
        self
    }
}

/// Directories in which a program is the one that its name says.
const USUAL: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"];

/// The name of the program, if it is the usual one.
fn program(word: &Word) -> Option<&str> {
    let text = word.literal()?;
    let Some((_, name)) = text.rsplit_once('/') else { return Some(text) };
    let path = VirtualPath::parse(text).ok().filter(|_| text.starts_with('/'))?;
    let directory = path.parent()?;
    (USUAL.contains(&directory.as_str()) && path.name() == Some(name)).then_some(name)
}

/// One that only has the name of something that would be looked through.
fn is_lookalike(word: &Word) -> bool {
    let name = word.literal().and_then(|text| text.rsplit_once('/')).map(|(_, name)| name);
    program(word).is_none() && name.is_some_and(means_something)
}

/// Looks behind an invocation.
fn unwrap(invocation: &Invocation) -> Unwrapped {
    let Some(name) = invocation.argv.first().and_then(program) else {
        return if invocation.argv.first().is_some_and(is_lookalike) {
            Unwrapped::doubted(DoubtKind::Construct, "a program from an unusual place with a usual name")
        } else {
            Unwrapped::ordinary()
        };
    };
    let argv = invocation.argv.as_slice();
    if let Some(wrapper) = table::find(name) {
        return table::unwrap(wrapper, argv, invocation.input);
    }
    match name {
        "env" => environment::unwrap(argv),
        "xargs" => xargs::unwrap(argv),
        "find" => find::unwrap(argv),
        "git" => git::unwrap(argv),
        "eval" | "trap" | "alias" | "watch" | "su" | "ssh" | "script" | "flock" | "parallel" => {
            scripts::unwrap(name, argv)
        }
        "busybox" | "toybox" => others::applet(name, argv),
        _ if shells::is_shell(name) => shells::unwrap(name, argv, invocation.input, invocation.fed.as_deref()),
        _ => others::unwrap(name, argv, invocation),
    }
}

/// Whether a function of this name would take the place of something that is looked through.
pub(super) fn means_something(name: &str) -> bool {
    table::find(name).is_some()
        || shells::is_shell(name)
        || builtins::is_builtin(name)
        || matches!(
            name,
            "env"
                | "xargs"
                | "find"
                | "git"
                | "watch"
                | "su"
                | "ssh"
                | "script"
                | "flock"
                | "parallel"
                | "busybox"
                | "toybox"
        )
}

/// The text of these words with a blank between them, if all of it is known.
fn joined(words: &[Word]) -> Option<String> {
    let texts: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    Some(texts?.join(" "))
}
