//! The result of looking behind a command.

use crate::{
    analysis::{Assignment, DoubtKind, StandardInput, Word},
    budget::quoted,
};

/// The commands behind an invocation.
#[derive(Debug, Default)]
pub(crate) struct Unwrapped {
    /// It stays in the list.
    pub(crate) kept: bool,
    /// The programs and scripts that it runs.
    pub(crate) runs: Vec<WrappedRun>,
    /// The doubts about it.
    pub(crate) doubts: Vec<(DoubtKind, String)>,
}

/// Something that a wrapper runs.
#[derive(Debug)]
pub(crate) enum WrappedRun {
    /// A program.
    Program {
        argv: Vec<Word>,
        assignments: Vec<Assignment>,
        /// The directory that it goes to first.
        directory: Option<Word>,
        input: Option<StandardInput>,
    },
    /// A text that a shell parses.
    Script { text: String, place: ScriptScope },
}

/// Where a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptScope {
    /// In this very shell.
    Here,
    /// In a shell of its own.
    Apart,
    /// Some time later.
    Later,
    /// As another user, or on another machine.
    Elsewhere,
}

impl Unwrapped {
    /// An ordinary command.
    pub(super) fn ordinary() -> Self {
        Self { kept: true, ..Self::default() }
    }

    /// One that stays as it is and is not understood.
    pub(super) fn doubted(kind: DoubtKind, about: impl Into<String>) -> Self {
        Self { kept: true, runs: Vec::new(), doubts: vec![(kind, about.into())] }
    }

    /// A wrapper with an option that is not known.
    pub(super) fn option(name: &str, option: &str) -> Self {
        Self::doubted(DoubtKind::Construct, format!("the option {} of `{name}`", quoted(option)))
    }

    /// A wrapper that vanishes.
    pub(super) fn program(argv: Vec<Word>) -> Self {
        let run = WrappedRun::Program { argv, assignments: Vec::new(), directory: None, input: None };
        Self { kept: false, runs: vec![run], doubts: Vec::new() }
    }

    /// A wrapper that vanishes before a script.
    pub(super) fn script(text: String, place: ScriptScope) -> Self {
        Self { kept: false, runs: vec![WrappedRun::Script { text, place }], doubts: Vec::new() }
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

/// The text of these words with a blank between them, if all of it is known.
pub(super) fn joined(words: &[Word]) -> Option<String> {
    let texts: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
    Some(texts?.join(" "))
}
