//! `Execution`: a command that is to be run, as gates and people see it.
//!
//! Invariant: everything about a request that decides what is run is in here: the line, where it
//! runs, the variables that it gets, and whether its standard input stays open. What is judged, shown
//! and remembered is made of this alone.

use std::collections::BTreeMap;

use super::CommandLine;
use crate::{Error, ErrorKind, Resolved, Result, sandbox::Command};

/// A command that is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// As it would be given to a shell. A program with its arguments is the line that a person would
    /// type for it.
    pub script: String,
    /// Where it would run.
    pub directory: Resolved,
    /// The variables that the request sets, besides those of the sandbox or instead of them.
    pub environment: BTreeMap<String, String>,
    /// What it can read.
    pub input: ExecutionInput,
}

/// What a command can read from its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionInput {
    /// Nothing.
    Nothing,
    /// Input that the caller writes later: it cannot be judged, and a shell would run it.
    Later,
}

impl Execution {
    pub(super) fn new(
        command: &Command,
        directory: Resolved,
        environment: &BTreeMap<String, String>,
        input: ExecutionInput,
    ) -> Result<Self> {
        // Such a name could pass for another variable, or for the command, where a person reads it.
        let odd = |name: &&String| name.is_empty() || name.contains('=') || name.chars().any(char::is_control);
        if environment.keys().any(|name| odd(&name)) {
            return Err(Error::new(ErrorKind::InvalidArgument, "a variable has a name that no variable can have")
                .hint("names are made of letters, digits and `_`"));
        }
        Ok(Self { script: command.as_line(), directory, environment: environment.clone(), input })
    }

    /// The command as it is shown to people and remembered: with the variables that come with it.
    #[must_use]
    pub fn whole_script(&self) -> String {
        let set = |(name, value): (&String, &String)| {
            let words = vec![format!("{name}={value}")];
            format!("export {}\n", Command::Program(words).as_line())
        };
        self.environment.iter().map(set).collect::<String>() + &self.script
    }

    /// The question about it.
    pub(super) fn command_line(&self, understood: Option<Vec<Vec<String>>>) -> CommandLine {
        CommandLine { script: self.whole_script(), directory: self.directory.real.clone(), understood }
    }
}
