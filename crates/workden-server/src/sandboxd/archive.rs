//! Files of sessions, open or closed, without starting a sandbox.
//!
//! A closed session is a directory of the service under the policy of its tenant, read-only. An open one is read as any
//! other caller reads it.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use workden::{Backend, BackendExt, Error, ErrorKind, VirtualPath, Workspace};
use workden_core::{ByteRange, Entry, Link, Symlink, search::ListRequest, text::TextWindow};

use super::{
    failure::{SandboxdFailure, SandboxdResult, sentence},
    files::SandboxdEntry,
    sessions::known_row,
};
use crate::{identity::Principal, service::Service};

/// The most bytes of one file.
const FILE_BYTES: u64 = 32 << 20;
/// The most sessions in one request for trees.
const MOST_TREES: usize = 100;
const MOST_DEPTH: u32 = 64;
const MOST_ENTRIES: usize = 100_000;

/// A path, and the lines of it.
#[derive(Debug, Deserialize)]
pub(super) struct ArchivedLines {
    path: String,
    #[serde(default)]
    offset: u64,
    #[serde(default = "all_lines")]
    limit: u64,
}

fn all_lines() -> u64 {
    2000
}

/// A directory, and how much below it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct TreeRequest {
    #[serde(default = "here")]
    path: String,
    #[serde(default = "usual_depth")]
    max_depth: u32,
    #[serde(default = "usual_entries")]
    max_entries: usize,
}

fn here() -> String {
    ".".to_owned()
}

fn usual_depth() -> u32 {
    6
}

fn usual_entries() -> usize {
    2000
}

/// The trees of several sessions.
#[derive(Debug, Deserialize)]
pub(super) struct TreesRequest {
    sessions: Vec<String>,
    #[serde(flatten)]
    tree: TreeRequest,
}

/// A directory, and what is below it, each directory before its content.
#[derive(Debug, Default, Serialize)]
pub(super) struct ArchivedTree {
    entries: Vec<SandboxdEntry>,
    truncated: bool,
}

/// The files of a session, and where they are in its sandbox.
struct Archive {
    workspace: Workspace,
    directory: VirtualPath,
}

impl Archive {
    async fn open(service: &Arc<Service>, principal: &Principal, id: &str) -> SandboxdResult<Self> {
        principal.require_tenant()?;
        let missing =
            || SandboxdFailure::new(StatusCode::NOT_FOUND, format!("No workspace for session: {}", id.escape_debug()));
        let row = known_row(service, principal, id).await?.ok_or_else(missing)?;
        if row.state == "running" {
            let workspace = service.session(principal, &row.id).await?.workspace(service, principal);
            let directory = workspace.working_directory().await?;
            return Ok(Self { workspace, directory });
        }
        let workspace = service.stored_workspace(principal, &row).await?.ok_or_else(missing)?;
        let directory = workspace.working_directory().await?;
        Ok(Self { workspace, directory })
    }

    /// Returns a path in the work directory.
    fn path(&self, typed: &str) -> SandboxdResult<VirtualPath> {
        let bad = |detail: String| SandboxdFailure::new(StatusCode::BAD_REQUEST, detail);
        let path = VirtualPath::parse_from(&self.directory, typed).map_err(|error| bad(sentence(&error)))?;
        match path.is_within(&self.directory) {
            true => Ok(path),
            false => Err(bad(format!("path outside the workspace: {}", typed.escape_debug()))),
        }
    }

    async fn list(&self, at: &VirtualPath) -> SandboxdResult<Vec<Entry>> {
        let request = ListRequest::default().keep(MOST_ENTRIES);
        let listed = self.workspace.files().list_path(at, &request).await.map_err(|error| of_archive(&error))?;
        Ok(listed.entries)
    }

    /// Lists level by level, up to the bounds of the request.
    async fn tree(&self, request: &TreeRequest) -> SandboxdResult<ArchivedTree> {
        let (depth, most) = (request.max_depth.clamp(1, MOST_DEPTH), request.max_entries.clamp(1, MOST_ENTRIES));
        let mut tree = ArchivedTree::default();
        let mut level = vec![self.path(&request.path)?];
        let mut is_first = true;
        for _ in 0..depth {
            let mut next = Vec::new();
            for directory in level {
                let entries = match self.list(&directory).await {
                    Ok(entries) => entries,
                    Err(failure) if is_first => return Err(failure),
                    // It went away, or may not be read.
                    Err(_) => {
                        tree.truncated = true;
                        continue;
                    }
                };
                is_first = false;
                for entry in &entries {
                    if tree.entries.len() == most {
                        tree.truncated = true;
                        return Ok(tree);
                    }
                    // A link is shown and not entered.
                    if entry.is_dir() && entry.link == Link::Direct {
                        next.push(entry.path.clone());
                    }
                    tree.entries.push(SandboxdEntry::of(entry, entry.path.to_string()));
                }
            }
            level = next;
        }
        tree.truncated |= !level.is_empty();
        Ok(tree)
    }
}

fn of_archive(error: &Error) -> SandboxdFailure {
    let status = match error.kind() {
        ErrorKind::NotFound | ErrorKind::IsDirectory | ErrorKind::NotDirectory => StatusCode::NOT_FOUND,
        ErrorKind::Gone => StatusCode::GONE,
        _ => StatusCode::BAD_REQUEST,
    };
    SandboxdFailure::new(status, sentence(error))
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(request): Json<ArchivedLines>,
) -> SandboxdResult<Json<Vec<SandboxdEntry>>> {
    let archive = Archive::open(&service, &principal, &id).await?;
    let entries = archive.list(&archive.path(&request.path)?).await?;
    Ok(Json(entries.iter().map(|entry| SandboxdEntry::of(entry, entry.path.to_string())).collect()))
}

pub(super) async fn tree(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(request): Json<TreeRequest>,
) -> SandboxdResult<Json<ArchivedTree>> {
    Ok(Json(Archive::open(&service, &principal, &id).await?.tree(&request).await?))
}

pub(super) async fn trees(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Json(request): Json<TreesRequest>,
) -> SandboxdResult<Json<Value>> {
    principal.require_tenant()?;
    if request.sessions.is_empty() || request.sessions.len() > MOST_TREES {
        let detail = format!("invalid sessions: name 1 to {MOST_TREES}");
        return Err(SandboxdFailure::new(StatusCode::UNPROCESSABLE_ENTITY, detail));
    }
    let mut results = Vec::with_capacity(request.sessions.len());
    for id in &request.sessions {
        let tree = async { Archive::open(&service, &principal, id).await?.tree(&request.tree).await };
        results.push(match tree.await {
            Ok(tree) => json!({ "session_id": id, "tree": tree }),
            Err(failure) => {
                let error = failure.detail().as_str().unwrap_or_default();
                json!({ "session_id": id, "error": error, "status_code": failure.status().as_u16() })
            }
        });
    }
    Ok(Json(json!({ "results": results })))
}

pub(super) async fn read(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(request): Json<ArchivedLines>,
) -> SandboxdResult<Json<Value>> {
    let archive = Archive::open(&service, &principal, &id).await?;
    let at = archive.path(&request.path)?;
    let window = TextWindow::lines(request.offset, request.limit.max(1));
    let read = archive.workspace.files().read_window(&at, window).await.map_err(|error| of_archive(&error))?;
    Ok(Json(json!({ "content": read.text })))
}

pub(super) async fn read_bytes(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(request): Json<ArchivedLines>,
) -> SandboxdResult<Json<Value>> {
    let archive = Archive::open(&service, &principal, &id).await?;
    let at = archive.path(&request.path)?;
    let files = archive.workspace.files();
    let read = async {
        let at = files.resolve(&at, Symlink::Follow).await?;
        files.read(&at, ByteRange::Whole { most: FILE_BYTES }).await
    };
    let read = read.await.map_err(|error: Error| of_archive(&error))?;
    Ok(Json(json!({ "content_b64": BASE64_STANDARD.encode(&read.bytes) })))
}
