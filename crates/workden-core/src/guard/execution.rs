//! `Execution`: a command to run, as gates and people see it.
//!
//! Invariant: an `Execution` has everything in a request that decides what is run: the line, the directory, the
//! variables, and whether standard input stays open. The judged, shown and remembered forms are all made from it.

use std::collections::BTreeMap;

use super::CommandLine;
use crate::{Error, ErrorKind, Resolved, Result, sandbox::Command};

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The line for a shell. A program with its arguments is quoted as a person would type it.
    pub script: String,
    /// The working directory.
    pub directory: Resolved,
    /// The variables of the request, which add to those of the sandbox or override them.
    pub environment: BTreeMap<String, String>,
    /// The standard input.
    pub input: ExecutionInput,
}

/// The standard input of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionInput {
    /// No input.
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
        // A person could mistake such a name for another variable or for the command.
        let odd = |name: &&String| name.is_empty() || name.contains('=') || name.chars().any(char::is_control);
        if environment.keys().any(|name| odd(&name)) {
            return Err(Error::new(ErrorKind::InvalidArgument, "a variable has a name that no variable can have")
                .hint("names are made of letters, digits and `_`"));
        }
        Ok(Self { script: command.as_line(), directory, environment: environment.clone(), input })
    }

    /// Returns the command as it is shown and remembered: with its variables.
    #[must_use]
    pub fn whole_script(&self) -> String {
        let set = |(name, value): (&String, &String)| {
            let words = vec![format!("{name}={value}")];
            format!("export {}\n", Command::Program(words).as_line())
        };
        self.environment.iter().map(set).collect::<String>() + &self.script
    }

    /// Returns the command for an approval request.
    pub(super) fn command_line(&self, understood: Option<Vec<Vec<String>>>) -> CommandLine {
        CommandLine { script: self.whole_script(), directory: self.directory.real.clone(), understood }
    }
}
