//! What is to be run, where, with what, and for how long.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{VirtualPath, limits};

/// A command: a line for the shell, or a program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A line that `sh -c` runs.
    Shell(String),
    /// A program and its arguments, with no shell between. The program is looked for in `PATH`.
    Program(Vec<String>),
}

impl Command {
    /// The command as a person would type it: the line, or the words quoted where they need it.
    #[must_use]
    pub fn as_line(&self) -> String {
        match self {
            Self::Shell(line) => line.clone(),
            Self::Program(words) => {
                let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
                quoted.join(" ")
            }
        }
    }
}

/// A word that a shell reads as itself.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command to run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecuteRequest {
    /// What to run.
    pub command: Command,
    /// Where; the sandbox's working directory unless named.
    #[serde(default)]
    pub directory: Option<VirtualPath>,
    /// What the environment has besides, or instead.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// How long it may take; `None` for as long as it takes.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// Characters of output in the answer; of more, head and tail are kept.
    pub most_chars: usize,
}

impl ExecuteRequest {
    /// A line for the shell, under the usual ceilings.
    #[must_use]
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(Command::Shell(line.into()))
    }

    /// A program and its arguments, under the usual ceilings.
    #[must_use]
    pub fn program<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self::new(Command::Program(words.into_iter().map(Into::into).collect()))
    }

    /// A command under the usual ceilings.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self {
            command,
            directory: None,
            environment: BTreeMap::new(),
            timeout: Some(limits::EXECUTE_TIME),
            most_chars: limits::OUTPUT_CHARS,
        }
    }

    /// The same with another timeout.
    #[must_use]
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
        self.timeout = timeout.into();
        self
    }
}

/// A command to start with streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRequest {
    /// What to run.
    pub command: Command,
    /// Where; the sandbox's working directory unless named.
    #[serde(default)]
    pub directory: Option<VirtualPath>,
    /// What the environment has besides, or instead.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// What its standard streams are.
    pub streams: Streams,
}

impl SpawnRequest {
    /// A command with pipes.
    #[must_use]
    pub fn piped(command: Command) -> Self {
        Self { command, directory: None, environment: BTreeMap::new(), streams: Streams::Pipes }
    }

    /// A command in a terminal of this size.
    #[must_use]
    pub fn in_terminal(command: Command, size: WindowSize) -> Self {
        Self { command, directory: None, environment: BTreeMap::new(), streams: Streams::Terminal(size) }
    }
}

/// What the standard streams of a process are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// A pipe each.
    Pipes,
    /// One terminal, of which the process is the leader.
    Terminal(WindowSize),
}

/// How large a terminal is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// A command to run in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRequest {
    /// What to run.
    pub command: Command,
    /// Where; the sandbox's working directory unless named.
    #[serde(default)]
    pub directory: Option<VirtualPath>,
    /// What the environment has besides, or instead.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

impl JobRequest {
    /// A line for the shell.
    #[must_use]
    pub fn shell(line: impl Into<String>) -> Self {
        Self { command: Command::Shell(line.into()), directory: None, environment: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_them_otherwise() {
        for (words, line) in [
            (&["ls", "-l", "/a_b/c.d"][..], "ls -l /a_b/c.d"),
            (&["echo", ""][..], "echo ''"),
            (&["echo", "a b", "it's", "$x"][..], r#"echo 'a b' 'it'\''s' '$x'"#),
            (&["a=b", "~x", "*"][..], "'a=b' '~x' '*'"),
        ] {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(Command::Program(words).as_line(), line);
        }
    }
}
