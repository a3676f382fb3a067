//! A directory to work in, `workden` started in it, and the output of a run.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// Returns `workden` without environment variables for colours, logs and tokens.
pub(crate) fn workden(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "WORKDEN_LOG", "WORKDEN_MCP_TOKEN"] {
        command.env_remove(name);
    }
    // Packages of projects are kept here, and not for the user of the tests.
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.args(words).stdin(Stdio::null());
    command
}

/// Puts a program where another user can reach it.
pub(crate) fn place(program: &Path, at: &Path) {
    // Not a copy written by this process: a child of another thread may hold it open for a moment, and a file that is
    // open for writing cannot be started.
    if std::fs::hard_link(program, at).is_err() {
        assert!(Command::new("cp").arg(program).arg(at).status().unwrap().success());
    }
}

/// A directory to work in, with one file.
pub(crate) struct Project(TempDir);

impl Project {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("notes.md"), "remember\n").unwrap();
        Self(place)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }

    /// Returns `workden` with these arguments, in this directory.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = workden(words);
        command.current_dir(self.path());
        command
    }

    pub(crate) fn workden(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().unwrap())
    }

    /// Returns `workden run` with these arguments, in this directory.
    pub(crate) fn run_command(&self, words: &[&str]) -> Command {
        self.command(&[&["run"], words].concat())
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.run_command(words).output().unwrap())
    }

    /// Runs `workden run` with input.
    pub(crate) fn run_fed(&self, words: &[&str], input: &[u8]) -> Ran {
        let mut command = self.run_command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = std::thread::scope(|scope| {
            scope.spawn(move || stdin.write_all(input));
            child.wait_with_output().unwrap()
        });
        Ran::of(output)
    }
}

/// The exit code and output of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Asserts success without a message, and returns the output.
    pub(crate) fn printed(self) -> String {
        assert!(self.code == Some(0) && self.err.is_empty(), "{self:?}");
        self.out
    }
}
