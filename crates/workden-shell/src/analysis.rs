//! The outcome of an analysis, as data: programs, files, and doubts.

use serde::Serialize;
use workden_core::VirtualPath;

/// What a script could do: every command that could run, whichever way its conditions go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Analysis {
    /// The commands, in the order in which they are written.
    pub invocations: Vec<Invocation>,
    /// The files that redirections open.
    pub redirections: Vec<Redirection>,
    /// What was not understood. As long as there is something here, nothing may be allowed.
    pub doubts: Vec<Doubt>,
}

/// One command that could run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Invocation {
    /// The program and its arguments, with wrappers such as `env`, `nice` or `sh -c` taken off.
    pub argv: Vec<Word>,
    /// The wrappers that were taken off, outermost first.
    pub through: Vec<String>,
    /// Variables that are set for this command alone.
    pub assignments: Vec<Assignment>,
    /// Where it could run.
    pub directories: Directories,
    /// What its standard input is.
    pub input: Input,
    /// The text that it is fed, where that stands in the script: a here-document, a here-string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fed: Option<String>,
}

/// A variable and what it is set to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// What it becomes is only known when it runs; as written. There is a doubt for each of these.
    Unknown(String),
}

/// The directories in which a command could run: `cd` may have failed, or not have been reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Directories {
    /// One of these.
    AnyOf(Vec<VirtualPath>),
    /// Nobody knows.
    Unknown,
}

/// What a command's standard input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// That of the whole script.
    Inherited,
    /// What another command prints, or a text in the script.
    Fed,
}

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirection {
    /// What for.
    pub usage: Use,
    /// Which file.
    pub target: Word,
    /// From where a relative target counts.
    pub directories: Directories,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// `<`.
    Read,
    /// `>`, `>>`, `>|`, `&>`.
    Write,
    /// `<>`.
    ReadWrite,
}

/// Something that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doubt {
    /// Of what kind.
    pub kind: DoubtKind,
    /// In a few words for a person or a model; quotes the script, shortened.
    pub about: String,
}

/// Of what kind a doubt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
    /// A function that starts itself more than once: there is no end to it.
    Recursion,
    /// Code of another language, or from somewhere else, that would run.
    ForeignCode,
}

impl Word {
    /// Its text, if that is known.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Pattern(_) | Self::Unknown(_) => None,
        }
    }

    /// As far as it can be shown.
    #[must_use]
    pub fn shown(&self) -> &str {
        match self {
            Self::Literal(text) | Self::Pattern(text) | Self::Unknown(text) => text,
        }
    }
}
