//! Requests to run commands: the command, the directory, the environment and the limits.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{VirtualPath, limits, setters::setters};

/// A command: a line for the shell, or a program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// A line for the [`Shell`](super::Shell) of the sandbox.
    Shell(String),
    /// A program and its arguments, without a shell. The program is searched for in `PATH`.
    Program(Vec<String>),
}

impl Command {
    /// Returns the command as a person would type it: the line, or the words with quotes if necessary.
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

/// Quotes a word so that a shell reads it literally.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command to run to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExecuteRequest {
    /// The command to run.
    pub command: Command,
    /// The directory to run in; by default the sandbox's working directory.
    #[serde(default)]
    pub directory: Option<VirtualPath>,
    /// Variables that add to the environment or override it.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// How long the command may take; `None` for no limit.
    #[serde(default)]
    pub timeout: Option<Duration>,
    /// Characters of output in the answer; of longer output, head and tail are kept.
    pub most_chars: usize,
}

impl ExecuteRequest {
    /// Creates a request to run a line in the shell, with the default limits.
    #[must_use]
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(Command::Shell(line.into()))
    }

    /// Creates a request to run a program with its arguments, with the default limits.
    #[must_use]
    pub fn program<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self::new(Command::Program(words.into_iter().map(Into::into).collect()))
    }

    /// Creates a request to run a command, with the default limits.
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

    /// Sets variables that add to the environment or override it.
    #[must_use]
    pub fn environment<K: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.environment = environment(variables);
        self
    }

    setters! {
        /// Sets the directory in which the command starts; `None` for the sandbox's working directory.
        directory: impl Into<Option<VirtualPath>>,
        /// Sets how long the command may take; `None` for no limit.
        timeout: impl Into<Option<Duration>>,
        /// Sets how many characters of output the answer has at most.
        most_chars: usize,
    }
}

/// A command to start with streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SpawnRequest {
    /// The command to run.
    pub command: Command,
    /// The directory to run in; by default the sandbox's working directory.
    #[serde(default)]
    pub directory: Option<VirtualPath>,
    /// Variables that add to the environment or override it.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The standard streams of the command.
    pub streams: Streams,
}

impl SpawnRequest {
    /// Creates a request to start a command with these streams.
    #[must_use]
    pub fn new(command: Command, streams: Streams) -> Self {
        Self { command, directory: None, environment: BTreeMap::new(), streams }
    }

    /// Creates a request to start a command with pipes.
    #[must_use]
    pub fn piped(command: Command) -> Self {
        Self::new(command, Streams::Pipes)
    }

    /// Creates a request to start a command in a terminal of this size.
    #[must_use]
    pub fn in_terminal(command: Command, size: WindowSize) -> Self {
        Self::new(command, Streams::Terminal(size))
    }

    /// Sets variables that add to the environment or override it.
    #[must_use]
    pub fn environment<K: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.environment = environment(variables);
        self
    }

    setters! {
        /// Sets the directory in which the command starts; `None` for the sandbox's working directory.
        directory: impl Into<Option<VirtualPath>>,
    }
}

/// The standard streams of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// One pipe for each stream.
    Pipes,
    /// One terminal, with the process as its session leader.
    Terminal(WindowSize),
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowSize {
    /// Lines.
    pub rows: u16,
    /// Characters in a line.
    pub columns: u16,
}

/// A command to run in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobRequest {
    /// The command to run.
    pub command: Command,
    /// The directory to run in; by default the sandbox's working directory.
    #[serde(default)]
    pub directory: Option<VirtualPath>,
    /// Variables that add to the environment or override it.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

impl JobRequest {
    /// Creates a request to run a command in the background.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self { command, directory: None, environment: BTreeMap::new() }
    }

    /// Creates a request to run a line in the shell, in the background.
    #[must_use]
    pub fn shell(line: impl Into<String>) -> Self {
        Self::new(Command::Shell(line.into()))
    }

    /// Sets variables that add to the environment or override it.
    #[must_use]
    pub fn environment<K: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        self.environment = environment(variables);
        self
    }

    setters! {
        /// Sets the directory in which the command starts; `None` for the sandbox's working directory.
        directory: impl Into<Option<VirtualPath>>,
    }
}

fn environment<K: Into<String>, V: Into<String>>(
    variables: impl IntoIterator<Item = (K, V)>,
) -> BTreeMap<String, String> {
    variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
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
