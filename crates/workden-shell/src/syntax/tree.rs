//! A script as a tree: only what matters for which programs run, with which words, on which files.
//!
//! Invariant: there is no node for "something else". What the parser cannot say in these words it
//! refuses, so that whoever walks the tree has seen everything.

use std::{cell::OnceCell, rc::Rc};

/// Commands one after the other.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) items: Vec<Item>,
    /// Constructs in it that shells read differently.
    pub(crate) doubts: Vec<&'static str>,
}

/// One entry of a list.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) first: Pipeline,
    pub(crate) rest: Vec<(Join, Pipeline)>,
    pub(crate) runs: Runs,
}

/// What stands between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
}

/// Whether the shell waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    Foreground,
    Background,
}

/// Commands joined by pipes.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) timed: bool,
    pub(crate) negated: bool,
    pub(crate) commands: Vec<Command>,
}

#[derive(Debug)]
pub(crate) enum Command {
    Simple(Simple),
    Compound(Compound, Vec<Redirect>),
    Function { name: String, body: Box<Command> },
    Coprocess(Box<Command>),
}

/// A program or a builtin, with what belongs to it.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assign>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(crate) struct Assign {
    pub(crate) name: String,
    /// Of `name[subscript]=value`.
    pub(crate) subscript: Vec<Part>,
    pub(crate) value: Word,
}

#[derive(Debug)]
pub(crate) enum Compound {
    Group(Script),
    Subshell(Script),
    /// Conditions and branches, all of which could run, in order.
    If(Vec<Script>),
    Loop {
        /// The variable of `for` and `select`.
        variable: Option<String>,
        words: Vec<Word>,
        /// Of `for ((...))`.
        arithmetic: Vec<Part>,
        condition: Script,
        body: Script,
    },
    Case {
        word: Word,
        arms: Vec<(Vec<Word>, Script)>,
    },
    /// `[[ ... ]]`.
    Test(Vec<Word>),
    /// `((...))`.
    Arithmetic(Vec<Part>),
}

#[derive(Debug)]
pub(crate) struct Redirect {
    /// The descriptor in front of it.
    pub(crate) from: Descriptor,
    pub(crate) to: Target,
}

/// What stands in front of a redirection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Descriptor {
    Usual,
    Number(String),
    Variable(String),
}

#[derive(Debug)]
pub(crate) enum Target {
    Read(Word),
    Write(Word),
    ReadWrite(Word),
    /// `<&3`, `<&-`.
    DuplicateInput,
    /// `>&1`, `>&-`.
    DuplicateOutput,
    /// `<<`; filled when the line is over.
    HereDocument(Rc<OnceCell<HereDocument>>),
    /// `<<<`.
    HereString(Word),
}

/// The text of a here-document.
#[derive(Debug)]
pub(crate) struct HereDocument {
    /// What it consists of; one quoted part if nothing in it is expanded.
    pub(crate) parts: Vec<Part>,
}

/// A word as it is written.
#[derive(Debug, Default)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    pub(crate) written: String,
}

/// A piece of a word.
#[derive(Debug)]
pub(crate) enum Part {
    /// Text that is not quoted: braces, tildes and patterns in it are live.
    Plain(String),
    /// Text that means itself.
    Quoted(String),
    /// `$?`, `$#`, `$$`, `$!`.
    Number,
    /// `$x`, `${x...}`.
    Parameter(Parameter),
    /// `$(...)` and backticks.
    Command(Script),
    /// `$((...))`.
    Arithmetic(Vec<Part>),
    /// `<(...)`, `>(...)`.
    Process(Script),
    /// `name=(...)`.
    Array(Vec<Word>),
    /// The `[...]` of an assignment.
    Subscript(Vec<Part>),
    /// `@(a|b)` and the groups of a regular expression, in `[[ ]]` only.
    Balanced(Vec<Part>),
}

/// An expansion of a parameter.
#[derive(Debug, Default)]
pub(crate) struct Parameter {
    /// What is nested in it.
    pub(crate) inner: Vec<Part>,
    /// The variable that `${x:=y}` sets.
    pub(crate) sets: Option<String>,
    /// It evaluates text as code: `${x@P}`, `${!x}`, `${a[i]}`, `${x:i}`.
    pub(crate) evaluates: bool,
}

impl Script {
    /// Whether it is no more than one simple command.
    pub(crate) fn is_one_command(&self) -> bool {
        let [Item { first, rest, .. }] = self.items.as_slice() else { return false };
        rest.is_empty() && matches!(first.commands.as_slice(), [Command::Simple(_)])
    }
}

impl Word {
    /// Its text, if it is one unquoted piece: only such a word can be reserved.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Plain(text)] => Some(text),
            _ => None,
        }
    }
}
