//! A directory that `workden mcp` serves, over pipes or HTTP.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::clients::process::Process;

/// The token of clients over HTTP.
const TOKEN: &str = "the-token-of-these-tests";

/// How a client reaches a server.
pub(crate) enum Reached {
    /// The client starts this program with these arguments.
    Started(Vec<String>),
    /// The client connects to a URL.
    Over { url: String, token: &'static str },
}

/// A directory with a note and a secret, and a server for it.
pub(crate) struct Served {
    pub(crate) reached: Reached,
    /// Dropped before the directory.
    _server: Option<Process>,
    root: TempDir,
}

impl Served {
    /// Returns a server that the client starts, with these options.
    pub(crate) fn over_pipes(options: &[&str]) -> Self {
        let root = project();
        let mut words = words(root.path());
        words.extend(options.iter().map(ToString::to_string));
        Self { reached: Reached::Started(words), _server: None, root }
    }

    /// Starts a server with these options.
    pub(crate) fn over_http(options: &[&str]) -> Self {
        let root = project();
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
        command.args(words(root.path())).args(["--http", "0"]).args(options).env("WORKDEN_MCP_TOKEN", TOKEN);
        let mut server = Process::start(command.stdin(Stdio::null()).stderr(Stdio::piped()));
        let told = BufReader::new(server.0.stderr.take().unwrap()).lines().next().unwrap().unwrap();
        let url = told.strip_prefix("workden: serving ").unwrap().to_owned();
        Self { reached: Reached::Over { url, token: TOKEN }, _server: Some(server), root }
    }

    /// Returns one of each.
    pub(crate) fn both(options: &[&str]) -> [Self; 2] {
        [Self::over_pipes(options), Self::over_http(options)]
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap()
    }
}

/// Creates a directory with a note and a secret.
pub(crate) fn project() -> TempDir {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("notes.md"), "remember\n").unwrap();
    std::fs::write(root.path().join(".env"), "KEY=hunter2\n").unwrap();
    root
}

fn words(root: &Path) -> Vec<String> {
    ["mcp", "--root", &root.display().to_string()].map(str::to_owned).to_vec()
}
