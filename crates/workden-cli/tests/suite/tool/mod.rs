//! `workden tool` and `workden mcp` as users and programs start them: one call, JSON lines, approvals and state files;
//! none of them leaves anything behind.

mod approvals;
mod calls;
mod flood;
mod gone;
mod jsonl;
mod limits;
mod log;
mod mcp;
mod places;
mod state;

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::Value;

use crate::project::{Project, Ran};

impl Project {
    /// Creates a project with a secret.
    fn with_secret() -> Self {
        let project = Self::new();
        std::fs::write(project.at(".env"), "KEY=hunter2\n").unwrap();
        project
    }

    /// Runs `workden tool NAME ARGS` with further arguments.
    fn tool(&self, name: &str, arguments: &Value, words: &[&str]) -> Ran {
        self.workden(&[&["tool", name, &arguments.to_string()], words].concat())
    }

    /// Starts `workden tool --jsonl` with further arguments.
    fn jsonl(&self, words: &[&str]) -> Conversation {
        Conversation::with(self.command(&[&["tool", "--jsonl"], words].concat()))
    }
}

/// A process that answers lines with lines.
struct Conversation {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Conversation {
    fn with(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn say(&mut self, line: impl std::fmt::Display) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Returns the next answer, or `None` at the end.
    fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    fn ask(&mut self, line: impl std::fmt::Display) -> Value {
        self.say(line);
        self.hear().unwrap()
    }

    /// Ends the input and returns the exit code.
    fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        assert_eq!(self.hear(), None);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
