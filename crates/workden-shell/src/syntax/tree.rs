//! A script as a tree, with only the parts that decide which programs run, with which words, on which files.
//!
//! Invariant: no node stands for "something else". The parser rejects every construct without a node, so that a walk
//! over the tree sees everything.

use std::{cell::OnceCell, rc::Rc};

/// A sequence of commands.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) items: Vec<Item>,
    /// Constructs in the script that shells read differently.
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

/// Whether the shell waits for the command.
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
    Function { name: String, body: Rc<CommandNode> },
    Coprocess(Box<CommandNode>),
}

/// A program or a builtin, with its assignments and redirections.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assign>,
    pub(crate) words: Vec<RawWord>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(crate) struct Assign {
    pub(crate) name: String,
    /// The subscript of `name[subscript]=value`.
    pub(crate) subscript: Vec<WordPart>,
    /// Whether the value is added to the present one: `name+=value`.
    pub(crate) appends: bool,
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
        /// The arithmetic of `for ((...))`.
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
    /// The descriptor in front of the operator.
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
    /// `<<`; filled at the end of the line.
    HereDocument(Rc<OnceCell<HereDocument>>),
    /// `<<<`.
    HereString(RawWord),
}

/// The text of a here-document.
#[derive(Debug)]
pub(crate) struct HereDocument {
    /// The parts of the text; one quoted part if it is not expanded.
    pub(crate) parts: Vec<WordPart>,
}

/// An announced here-document.
pub(super) struct PendingHereDocument {
    pub(super) document: Rc<OnceCell<HereDocument>>,
    pub(super) delimiter: String,
    pub(super) expands: bool,
    pub(super) strips_tabs: bool,
}

/// A word as written.
#[derive(Debug, Default)]
pub(crate) struct RawWord {
    pub(crate) parts: Vec<WordPart>,
    pub(crate) written: String,
}

/// A piece of a word.
#[derive(Debug)]
pub(crate) enum WordPart {
    /// Unquoted text: braces, tildes and patterns in it are special.
    Plain(String),
    /// Literal text.
    Quoted(String),
    /// `$?`, `$#`, `$$`.
    Number,
    /// `$x`, `${x...}`.
    Parameter(Parameter),
    /// `$(...)` and backticks.
    Command { script: Script, splitting: Splitting },
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

/// Whether the shell splits the value of an expansion at blanks and expands patterns in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Splitting {
    /// Outside of quotes.
    #[default]
    Splits,
    /// Within quotes.
    Whole,
}

/// An expansion of a parameter.
#[derive(Debug, Default)]
pub(crate) struct Parameter {
    /// The variable; `None` for positional and special parameters.
    pub(crate) name: Option<String>,
    pub(crate) splitting: Splitting,
    /// Whether this is a length: `${#x}`.
    pub(crate) length: bool,
    /// The operator and the parts nested in the expansion.
    pub(crate) inner: Vec<WordPart>,
    /// The variable that `${x:=y}` sets.
    pub(crate) sets: Option<String>,
    /// Whether the expansion evaluates text as code: `${x@P}`, `${!x}`, `${a[i]}`, `${x:i}`.
    pub(crate) evaluates: bool,
}

impl Script {
    /// Whether the script is a single simple command.
    pub(crate) fn is_one_command(&self) -> bool {
        let [Item { first, rest, .. }] = self.items.as_slice() else { return false };
        rest.is_empty() && matches!(first.commands.as_slice(), [CommandNode::Simple(_)])
    }
}

impl RawWord {
    /// Returns the text of a word that is one unquoted piece: only such a word can be reserved.
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
