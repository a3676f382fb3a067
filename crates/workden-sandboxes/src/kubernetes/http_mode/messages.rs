//! The messages of the protocol.

use serde::{Deserialize, Serialize};

/// More lines than any file has: the whole file.
pub(super) const ALL_LINES: u64 = 1_000_000_000;

#[derive(Debug, Serialize)]
pub(super) struct ExecRequest<'a> {
    pub(super) command: &'a str,
    pub(super) timeout_seconds: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct ExecAnswer {
    #[serde(default)]
    pub(super) output: String,
    #[serde(default)]
    pub(super) exit_code: Option<i32>,
    #[serde(default)]
    pub(super) truncated: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(super) struct ReadRequest<'a> {
    pub(super) path: &'a str,
    pub(super) offset: u64,
    pub(super) limit: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct ReadAnswer {
    #[serde(default)]
    pub(super) content: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct WriteRequest<'a> {
    pub(super) path: &'a str,
    pub(super) content_b64: String,
}

#[derive(Debug, Serialize)]
pub(super) struct ListRequest<'a> {
    pub(super) path: &'a str,
}

#[derive(Debug, Serialize)]
pub(super) struct GlobRequest<'a> {
    pub(super) pattern: &'a str,
    pub(super) path: &'a str,
}

/// A file or directory.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) is_dir: bool,
    pub(super) size: Option<u64>,
}
