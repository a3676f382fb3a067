//! Sandboxes without a keeper: a server inside them has calls for files and commands, and decides how they work.
//!
//! [`FileService`] is what such a server can do; [`ServedSandbox`] makes a sandbox of it. What the server has no call for
//! is done by a command if that is exact, and is `Unsupported` otherwise. The server is part of the sandbox, and as
//! little trusted: an implementation bounds every answer in size and time.

mod commands;
mod files;
mod search;

use std::{fmt, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
pub(crate) use commands::quoted;
use workden_core::{
    Entry, IfExists, Result, VirtualPath,
    sandbox::{Ended, Isolation, Usage},
};

/// How long a call about files may take.
pub(crate) const FILES_TIME: Duration = Duration::from_secs(60);

/// What a server in a sandbox can do.
#[async_trait]
pub(crate) trait FileService: fmt::Debug + Send + Sync + 'static {
    /// Returns what the way is called in messages, after "is not supported with".
    fn name(&self) -> &'static str;

    /// Returns where commands start.
    fn work_dir(&self) -> &VirtualPath;

    /// Lists a directory. A missing directory may be an empty list, or an error.
    async fn rows(&self, directory: &VirtualPath) -> Result<Vec<Entry>>;

    /// Returns one file or directory.
    async fn entry(&self, verb: &str, path: &VirtualPath) -> Result<Entry>;

    /// Returns the content of a file.
    async fn content(&self, verb: &str, path: &VirtualPath) -> Result<Bytes>;

    /// Writes a file, and makes its directories.
    async fn put(&self, path: &VirtualPath, content: Bytes) -> Result<()>;

    /// Moves a file or a directory.
    async fn rename(&self, from: &VirtualPath, to: &VirtualPath, if_exists: IfExists) -> Result<()>;

    /// Returns the files and directories below a directory that match a glob.
    async fn find(&self, at: &VirtualPath, pattern: &str) -> Result<Vec<Entry>>;

    /// Runs a line of a shell.
    async fn run(&self, line: &str, time: Duration) -> Result<RanLine>;

    async fn usage(&self) -> Result<Usage>;

    async fn isolation(&self) -> Result<Isolation>;

    /// Ends the sandbox.
    async fn end(&self) -> Result<()>;
}

/// How a line of a shell ended.
#[derive(Clone, Debug)]
pub(crate) struct RanLine {
    /// Both outputs in one.
    pub(crate) output: String,
    pub(crate) ended: Ended,
    /// Whether the server has cut the output.
    pub(crate) is_cut: bool,
}

/// A sandbox that a server in it serves.
#[derive(Debug)]
pub(crate) struct ServedSandbox<S> {
    pub(crate) service: S,
    /// Held during a read, change and write.
    changes: tokio::sync::Mutex<()>,
}

impl<S: FileService> ServedSandbox<S> {
    pub(crate) fn new(service: S) -> Self {
        Self { service, changes: tokio::sync::Mutex::default() }
    }
}

/// The most characters of a message of a server that are repeated.
const MESSAGE_CHARACTERS: usize = 600;

/// Returns a message of a server as it can be shown: one line, bounded, without control characters.
pub(crate) fn shown(message: &str) -> String {
    let line: Vec<&str> = message.split_whitespace().collect();
    let mut shown = String::new();
    for character in line.join(" ").chars().take(MESSAGE_CHARACTERS) {
        if character.is_control() {
            shown.extend(character.escape_debug());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_bounded_line() {
        assert_eq!(shown("a\n  b\u{1b}[31m"), "a b\\u{1b}[31m");
        assert_eq!(shown(&"x".repeat(5000)).len(), MESSAGE_CHARACTERS);
    }
}
