//! The outcome of an analysis, as data: programs, files, and doubts.

use serde::Serialize;
use workden_core::VirtualPath;

/// The analysis of a script: every command that could run, whichever way its conditions go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// The commands, in the order in which they are written.
    pub invocations: Vec<Invocation>,
    /// The files that redirections open.
    pub redirections: Vec<Redirection>,
    /// Everything that was not understood. A script with a doubt must not be allowed unasked.
    pub doubts: Vec<Doubt>,
}

/// One command that could run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Invocation {
    /// The program and its arguments, with wrappers such as `env`, `nice` or `sh -c` taken off.
    pub argv: Vec<Word>,
    /// The wrappers that were taken off, outermost first.
    pub through: Vec<String>,
    /// Variables that are set for this command alone.
    pub assignments: Vec<Assignment>,
    /// Where it could run.
    pub directories: WorkingDirectories,
    /// Its standard input.
    pub input: StandardInput,
    /// The text that it is fed, where that stands in the script: a here-document, a here-string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fed: Option<String>,
}

/// A variable and what it is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: Word,
}

/// One word of a command, after quotes are taken off.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// It is this text.
    Literal(String),
    /// It becomes the names that match this pattern: `*`, `?` and `[...]` as the shell has them
    /// (no name that starts with a dot unless the dot is written), `**/` for any directories.
    Pattern(String),
    /// A word whose value is only known when it runs; as written. Each of these has a doubt.
    Unknown(String),
}

/// The directories in which a command could run: `cd` may have failed, or not have been reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkingDirectories {
    /// One of these.
    AnyOf(Vec<VirtualPath>),
    /// Unknown until the script runs.
    Unknown,
}

/// The standard input of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StandardInput {
    /// That of the whole script.
    Inherited,
    /// The output of another command, or a text in the script.
    Fed,
}

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Redirection {
    /// How it is opened.
    pub usage: OpenMode,
    /// Which file.
    pub target: Word,
    /// From where a relative target counts.
    pub directories: WorkingDirectories,
}

/// How a redirection opens a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenMode {
    /// `<`.
    Read,
    /// `>`, `>>`, `>|`, `&>`.
    Write,
    /// `<>`.
    ReadWrite,
}

/// Something that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Doubt {
    /// The kind.
    pub kind: DoubtKind,
    /// In a few words for a person or a model; quotes the script, shortened.
    pub about: String,
}

/// The kind of a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DoubtKind {
    /// It does not parse.
    Syntax,
    /// It is too long, too deep, or has too many words to be looked at.
    TooMuch,
    /// A word whose value is only known when it runs.
    NotLiteral,
    /// A construct that is not looked into.
    Construct,
    /// A variable that changes which programs run (`PATH`, `LD_PRELOAD`, `GIT_SSH_COMMAND`).
    Environment,
    /// A function that starts itself more than once: it never ends.
    Recursion,
    /// Code of another language, or from somewhere else, that would run.
    ForeignCode,
}

impl Analysis {
    /// Returns an analysis of these invocations alone, without redirections and doubts.
    #[must_use]
    pub fn of(invocations: Vec<Invocation>) -> Self {
        Self { invocations, ..Self::default() }
    }
}

impl Invocation {
    /// Returns the same invocation of another program.
    #[must_use]
    pub fn with_argv(&self, argv: Vec<Word>) -> Self {
        Self { argv, ..self.clone() }
    }
}

impl Doubt {
    /// Returns a doubt; `about` names the part of the script in a few words.
    #[must_use]
    pub fn new(kind: DoubtKind, about: impl Into<String>) -> Self {
        Self { kind, about: about.into() }
    }
}

impl Word {
    /// Returns its text, if that is known.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Pattern(_) | Self::Unknown(_) => None,
        }
    }

    /// Returns its text as far as it can be shown.
    #[must_use]
    pub fn shown(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Pattern(text) | Self::Unknown(text) => text,
        }
    }
}
