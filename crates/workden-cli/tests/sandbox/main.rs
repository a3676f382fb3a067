//! Sandboxes as a user starts them: `workden run`, `workden doctor`, and the library with this binary as its
//! keeper.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

mod after_run;
mod doctor;
mod killed;
mod level;
mod library;
mod logs;
mod masks;
mod run;
mod run_streams;
mod toolchains;
mod words;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// The binary, without what the environment says of colours.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.args(arguments).stdin(Stdio::null());
    command
}

/// A directory to work in, with a file in it.
struct Project(TempDir);

impl Project {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("notes.md"), "remember\n").unwrap();
        Self(place)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `workden run` with these words, from this directory.
    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }

    /// The same with something to read.
    fn run_fed(&self, words: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input));
            child.wait_with_output().unwrap()
        });
        Ran::of(output)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut all = command(&["run"]);
        all.args(words).current_dir(self.path());
        all
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
