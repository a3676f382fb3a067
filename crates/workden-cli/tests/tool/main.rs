//! `workden tool` and `workden mcp` as users and programs start them: one call, JSON lines, approvals, state
//! files, and that nothing is left of any of it.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod approvals;
mod calls;
mod flood;
mod gone;
mod jsonl;
mod log;
mod mcp;
mod places;
mod state;

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;
use tempfile::TempDir;

/// A directory to work in, with a file and a secret in it.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("notes.md"), "remember\n").unwrap();
        std::fs::write(place.path().join(".env"), "KEY=hunter2\n").unwrap();
        Self(place)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    /// `workden` with these words, from this directory.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "WORKDEN_LOG", "WORKDEN_MCP_TOKEN"] {
            command.env_remove(name);
        }
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        command
    }

    fn workden(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }

    /// `workden tool NAME ARGS` and what else is said.
    fn tool(&self, name: &str, arguments: &Value, words: &[&str]) -> Ran {
        self.workden(&[&["tool", name, &arguments.to_string()], words].concat())
    }

    /// `workden tool --jsonl` and what else is said.
    fn jsonl(&self, words: &[&str]) -> Conversation {
        Conversation::with(self.command(&[&["tool", "--jsonl"], words].concat()))
    }
}

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// What it printed, when all was well.
    fn printed(self) -> String {
        assert!(self.code == Some(0) && self.err.is_empty(), "{self:?}");
        self.out
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

    /// The next answer; `None` when there are no more.
    fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
    }

    fn ask(&mut self, line: impl std::fmt::Display) -> Value {
        self.say(line);
        self.hear().unwrap()
    }

    /// Ends the input, and is the exit code.
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

/// Whether a process has this word among its arguments.
fn is_running(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(|argument| argument == word)
    })
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
