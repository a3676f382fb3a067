//! The result of an analysis, as data: programs, files and doubts.

use serde::Serialize;
use workden_core::VirtualPath;

/// The analysis of a script: every command that could run, whichever way its conditions go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Analysis {
    /// The commands, in the order of the script.
    pub invocations: Vec<Invocation>,
    /// The files that redirections open.
    pub redirections: Vec<Redirection>,
    /// Everything that was not understood. A script with a doubt must not be allowed without approval.
    pub doubts: Vec<Doubt>,
}

/// One command that could run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Invocation {
    /// The program and its arguments, without wrappers such as `env`, `nice` or `sh -c`.
    pub argv: Vec<Word>,
    /// The removed wrappers, outermost first.
    pub through: Vec<String>,
    /// Variables that are set for this command alone.
    pub assignments: Vec<Assignment>,
    /// The directories in which the command could run.
    pub directories: WorkingDirectories,
    /// The standard input of the command.
    pub input: StandardInput,
    /// The text of the standard input, if the script contains it: a here-document, a here-string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fed: Option<String>,
}

/// A variable and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// The value.
    pub value: Word,
}

/// One word of a command, without its quotes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// A known text.
    Literal(String),
    /// A pattern that expands to the matching names: `*`, `?` and `[...]` as in the shell (a leading dot matches only
    /// if it is written), `**/` for any directories.
    Pattern(String),
    /// Names that match a pattern, or pieces of such names: the shell splits a name with blanks.
    Pieces(String),
    /// A text with digits or letters for each star of this pattern, like a name with a date: no shell pattern.
    Stamp(String),
    /// A word that is not an option and has no blanks, like the name of a revision; as written. It is no known path.
    Token(String),
    /// A word whose value is only known when it runs; as written. Each such word has a doubt.
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
    /// The standard input of the whole script.
    Inherited,
    /// The output of another command, or a text in the script.
    Fed,
    /// A file that a redirection opens.
    File,
}

/// A file that a redirection opens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Redirection {
    /// How the file is opened.
    pub usage: OpenMode,
    /// The file.
    pub target: Word,
    /// The directories at which a relative target could start.
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

/// A part of a script that was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Doubt {
    /// The kind.
    pub kind: DoubtKind,
    /// A short description for a person or a model; quotes the script, shortened.
    pub about: String,
}

/// The kind of a doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DoubtKind {
    /// The script does not parse.
    Syntax,
    /// The script is too long, nested too deeply, or has too many words.
    TooMuch,
    /// A program, a file or an option whose name is only known when it runs.
    NotLiteral,
    /// An argument of a program, which is only known when it runs: a [`Word::Unknown`] of an [`Invocation`]. Whether it
    /// matters depends on the program.
    Argument,
    /// A construct that is not supported.
    Construct,
    /// A variable that changes which programs run (`PATH`, `LD_PRELOAD`, `GIT_SSH_COMMAND`).
    Environment,
    /// A function that calls itself more than once, so that it never ends.
    Recursion,
    /// Code of another language or from another source that would run.
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
    /// Returns the invocation with another program and its arguments.
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
    /// Returns the text of the word, if it is known.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Pattern(_) | Self::Pieces(_) | Self::Stamp(_) | Self::Token(_) | Self::Unknown(_) => None,
        }
    }

    /// Returns the text of the word as far as it can be shown.
    #[must_use]
    pub fn shown(&self) -> &str {
        match self {
            Self::Literal(text)
            | Self::Pattern(text)
            | Self::Pieces(text)
            | Self::Stamp(text)
            | Self::Token(text)
            | Self::Unknown(text) => text,
        }
    }
}
