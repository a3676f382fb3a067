//! The two compared servers: how each is started, and how it gets the same requests.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use super::{
    client::{Answer, Client},
    ground,
    peer::Peer,
};
use crate::Failure;

/// The path of the directory inside workden.
const WORKSPACE: &str = "/workspace";

/// A server and its names.
#[derive(Clone, Debug)]
pub(super) struct Side {
    program: PathBuf,
    arguments: Vec<OsString>,
    /// The root as clients of the server name it.
    root: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ours,
    Peer,
}

impl Side {
    /// `workden mcp --root DIR`, with default options.
    pub(super) fn ours(program: &Path, root: &Path) -> Self {
        let arguments = vec!["mcp".into(), "--root".into(), root.into()];
        Self { program: program.to_owned(), arguments, root: WORKSPACE.to_owned(), kind: Kind::Ours }
    }

    /// The peer on the same directory.
    pub(super) fn peer(peer: &Peer, root: &Path) -> Self {
        let arguments = vec![peer.entry.clone().into(), root.into()];
        Self { program: "node".into(), arguments, root: root.display().to_string(), kind: Kind::Peer }
    }

    /// The same with another argument.
    pub(super) fn with(mut self, word: &str) -> Self {
        self.arguments.push(word.into());
        self
    }

    pub(super) fn start(&self) -> Result<Client, Failure> {
        Client::start(Command::new(&self.program).args(&self.arguments).env_remove("WORKDEN_LOG"))
    }

    /// Starts a server and performs the handshake.
    pub(super) fn begin(&self) -> Result<Client, Failure> {
        let mut client = self.start()?;
        client.greet()?;
        Ok(client)
    }

    /// Reads the file of 4 KiB. Fails unless all of it comes back.
    pub(super) fn read(&self, client: &mut Client) -> Result<Answer, Failure> {
        let answer = client.call("read_file", &json!({ "path": format!("{}/{}", self.root, ground::READ) }))?;
        let text = answer.result["content"][0]["text"].as_str().unwrap_or_default();
        let lines = text.lines().map(|line| match self.kind {
            // A number, a tab and the line.
            Kind::Ours => line.split_once('\t').map_or("", |(_, line)| line),
            Kind::Peer => line,
        });
        match lines.eq(ground::notes().lines()) {
            true => Ok(answer),
            false => Err(format!("{:?} read something else: {text}", self.kind).into()),
        }
    }

    /// Searches the tree by name. Fails unless every file is found.
    pub(super) fn search(&self, client: &mut Client) -> Result<Answer, Failure> {
        let tool = match self.kind {
            Kind::Ours => "glob",
            Kind::Peer => "search_files",
        };
        let (path, pattern) = (format!("{}/tree", self.root), ground::PATTERN);
        let answer = client.call(tool, &json!({ "path": path, "pattern": pattern }))?;
        let mut found = self.found(&answer.result)?;
        found.sort();
        match found == ground::found() {
            true => Ok(answer),
            false => Err(format!("{:?} found {} files, expected {}", self.kind, found.len(), ground::FOUND).into()),
        }
    }

    /// Searches the tree by content; the peer has no such tool.
    pub(super) fn grep(&self, client: &mut Client) -> Result<Answer, Failure> {
        let path = format!("{}/tree", self.root);
        let answer = client.call("grep", &json!({ "path": path, "pattern": ground::WORD }))?;
        let text = answer.result["content"][0]["text"].as_str().unwrap_or_default();
        match text.matches("_ledger.py").count() {
            ground::FOUND => Ok(answer),
            other => Err(format!("{other} files have the word, expected {}: {text}", ground::FOUND).into()),
        }
    }

    /// Returns the paths in an answer, relative to the root.
    fn found(&self, result: &Value) -> Result<Vec<String>, Failure> {
        let paths: Vec<&str> = match self.kind {
            Kind::Ours => result["structuredContent"]["files"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect(),
            Kind::Peer => result["content"][0]["text"].as_str().unwrap_or_default().lines().collect(),
        };
        let below = |path: &str| {
            let rest = path.strip_prefix(&self.root)?.strip_prefix('/')?;
            Some(rest.to_owned())
        };
        let all: Option<Vec<String>> = paths.into_iter().map(below).collect();
        all.ok_or_else(|| format!("{:?} returned a path outside the root: {result}", self.kind).into())
    }
}
