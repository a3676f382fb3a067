//! A script as a tree: only what matters for which programs run, with which words, on which files.
//!
//! Invariant: there is no node for "something else". The parser rejects every
//! construct without a node, so that a walk over the tree sees everything.

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
    pub(crate) rest: Vec<(Connector, Pipeline)>,
    pub(crate) runs: RunMode,
}

/// The operator between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connector {
    And,
    Or,
}

/// Whether the shell waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunMode {
    Foreground,
    Background,
}

/// Commands joined by pipes.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) timed: bool,
    pub(crate) negated: bool,
    pub(crate) commands: Vec<CommandNode>,
}

#[derive(Debug)]
pub(crate) enum CommandNode {
    Simple(Simple),
    Compound(Compound, Vec<Redirect>),
    Function { name: String, body: Box<CommandNode> },
    Coprocess(Box<CommandNode>),
}

/// A program or a builtin, with what belongs to it.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assign>,
    pub(crate) words: Vec<RawWord>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(crate) struct Assign {
    pub(crate) name: String,
    /// Of `name[subscript]=value`.
    pub(crate) subscript: Vec<WordPart>,
    pub(crate) value: RawWord,
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
        words: Vec<RawWord>,
        /// Of `for ((...))`.
        arithmetic: Vec<WordPart>,
        condition: Script,
        body: Script,
    },
    Case {
        word: RawWord,
        arms: Vec<(Vec<RawWord>, Script)>,
    },
    /// `[[ ... ]]`.
    Test(Vec<RawWord>),
    /// `((...))`.
    Arithmetic(Vec<WordPart>),
}

#[derive(Debug)]
pub(crate) struct Redirect {
    /// The descriptor in front of it.
    pub(crate) from: RedirectSource,
    pub(crate) to: RedirectTarget,
}

/// The descriptor in front of a redirection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RedirectSource {
    Usual,
    Number(String),
    Variable(String),
}

#[derive(Debug)]
pub(crate) enum RedirectTarget {
    Read(RawWord),
    Write(RawWord),
    ReadWrite(RawWord),
    /// `<&3`, `<&-`.
    DuplicateInput,
    /// `>&1`, `>&-`.
    DuplicateOutput,
    /// `<<`; filled when the line is over.
    HereDocument(Rc<OnceCell<HereDocument>>),
    /// `<<<`.
    HereString(RawWord),
}

/// The text of a here-document.
#[derive(Debug)]
pub(crate) struct HereDocument {
    /// Its parts; one quoted part if nothing in it is expanded.
    pub(crate) parts: Vec<WordPart>,
}

/// A here-document that was announced.
pub(super) struct PendingHereDocument {
    pub(super) document: Rc<OnceCell<HereDocument>>,
    pub(super) delimiter: String,
    pub(super) expands: bool,
    pub(super) strips_tabs: bool,
}

/// A word as it is written.
#[derive(Debug, Default)]
pub(crate) struct RawWord {
    pub(crate) parts: Vec<WordPart>,
    pub(crate) written: String,
}

/// A piece of a word.
#[derive(Debug)]
pub(crate) enum WordPart {
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
    Arithmetic(Vec<WordPart>),
    /// `<(...)`, `>(...)`.
    Process(Script),
    /// `name=(...)`.
    Array(Vec<RawWord>),
    /// The `[...]` of an assignment.
    Subscript(Vec<WordPart>),
    /// `@(a|b)` and the groups of a regular expression, in `[[ ]]` only.
    Balanced(Vec<WordPart>),
}

/// An expansion of a parameter.
#[derive(Debug, Default)]
pub(crate) struct Parameter {
    /// The parts nested in it.
    pub(crate) inner: Vec<WordPart>,
    /// The variable that `${x:=y}` sets.
    pub(crate) sets: Option<String>,
    /// It evaluates text as code: `${x@P}`, `${!x}`, `${a[i]}`, `${x:i}`.
    pub(crate) evaluates: bool,
}

impl Script {
    /// Whether it is a single simple command.
    pub(crate) fn is_one_command(&self) -> bool {
        let [Item { first, rest, .. }] = self.items.as_slice() else { return false };
        rest.is_empty() && matches!(first.commands.as_slice(), [CommandNode::Simple(_)])
    }
}

impl RawWord {
    /// Its text, if it is one unquoted piece: only such a word can be reserved.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [WordPart::Plain(text)] => Some(text),
            _ => None,
        }
    }
}

/// Whether this is the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
