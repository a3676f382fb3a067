//! The result of unwrapping a command.

use crate::{
    analysis::{Assignment, DoubtKind, StandardInput, Word},
    budget::quoted,
};

/// The commands inside an invocation.
#[derive(Debug, Default)]
pub(crate) struct Unwrapped {
    /// Whether the invocation itself stays in the list.
    pub(crate) kept: bool,
    /// The programs and scripts that the invocation runs.
    pub(crate) runs: Vec<WrappedRun>,
    /// The doubts about the invocation.
    pub(crate) doubts: Vec<(DoubtKind, String)>,
}

/// A program or a script that a wrapper runs.
#[derive(Debug)]
pub(crate) enum WrappedRun {
    /// A program.
    Program {
        argv: Vec<Word>,
        assignments: Vec<Assignment>,
        /// The directory in which the program runs, if the wrapper changes it.
        directory: Option<Word>,
        input: Option<StandardInput>,
    },
    /// A text that a shell parses.
    Script { text: String, place: ScriptScope, arguments: Vec<Word> },
}

/// The shell in which a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptScope {
    /// This shell.
    Here,
    /// A separate shell.
    Apart,
    /// A shell at a later time.
    Later,
    /// A shell of another user or on another machine.
    Elsewhere,
}

impl Unwrapped {
    /// Returns the result for an ordinary command.
    pub(super) fn ordinary() -> Self {
        Self { kept: true, ..Self::default() }
    }

    /// Returns the result for a command that stays unchanged and is not understood.
    pub(super) fn doubted(kind: DoubtKind, about: impl Into<String>) -> Self {
        Self { kept: true, runs: Vec::new(), doubts: vec![(kind, about.into())] }
    }

    /// Returns the result for a wrapper with an unknown option.
    pub(super) fn option(name: &str, option: &str) -> Self {
        Self::doubted(DoubtKind::Construct, format!("the option {} of `{name}`", quoted(option)))
    }

    /// Returns the result for a removed wrapper around a program.
    pub(super) fn program(argv: Vec<Word>) -> Self {
        let run = WrappedRun::Program { argv, assignments: Vec::new(), directory: None, input: None };
        Self { kept: false, runs: vec![run], doubts: Vec::new() }
    }

    /// Returns the result for a removed wrapper around a script.
    pub(super) fn script(text: String, place: ScriptScope) -> Self {
        Self { kept: false, runs: vec![WrappedRun::Script { text, place, arguments: Vec::new() }], doubts: Vec::new() }
    }

    /// Gives arguments to the script.
    pub(super) fn with_arguments(mut self, words: &[Word]) -> Self {
        if let Some(WrappedRun::Script { arguments, .. }) = self.runs.last_mut() {
            *arguments = words.to_vec();
        }
        self
    }

    pub(super) fn and_kept(mut self) -> Self {
        self.kept = true;
        self
    }

    pub(super) fn and_doubt(mut self, kind: DoubtKind, about: impl Into<String>) -> Self {
        self.doubts.push((kind, about.into()));
        self
    }
}

/// Joins the texts of these words with blanks, if all of them are known.
pub(super) fn joined(words: &[Word]) -> Option<String> {
    let texts: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    Some(texts?.join(" "))
}
