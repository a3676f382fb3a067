//! Files of an open session, by absolute paths.
//!
//! A path with `.` or `..` is resolved by a command: only the sandbox knows where a link before `..` leads.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    extract::{Path, Query, State},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use workden::{Backend, BackendExt, Error, ErrorKind, Result, VirtualPath, Workspace};
use workden_core::{Entry, EntryKind, Removal, Resolved, Symlink, search::ListRequest};

use super::{
    failure::{SandboxdFailure, SandboxdResult},
    sessions::live,
};
use crate::{identity::Principal, service::Service, v1};

/// Entries of one listing; a larger directory is listed by a command.
const MOST_ENTRIES: usize = 100_000;

/// A path.
#[derive(Debug, Deserialize)]
pub(super) struct SandboxdPath {
    path: String,
}

/// A file or a directory.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct SandboxdEntry {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) is_dir: bool,
    pub(super) size: Option<u64>,
    pub(super) modified_at: Option<String>,
}

impl SandboxdEntry {
    /// Returns an entry under the path that the client typed.
    pub(super) fn of(entry: &Entry, path: String) -> Self {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let is_dir = entry.kind == EntryKind::Directory;
        let modified_at = entry.modified.and_then(|time| serde_json::to_value(time).ok()?.as_str().map(str::to_owned));
        Self { name, path, is_dir, size: entry.size.filter(|_| !is_dir), modified_at }
    }
}

fn parsed(typed: &str) -> SandboxdResult<VirtualPath> {
    if !typed.starts_with('/') {
        let error = Error::new(ErrorKind::InvalidPath, format!("path must be absolute: `{}`", typed.escape_debug()));
        return Err(SandboxdFailure::of_path(error));
    }
    if typed.split('/').any(|name| matches!(name, "." | "..")) {
        return Err(SandboxdFailure::by_command("the path is not normalized"));
    }
    VirtualPath::parse(typed).map_err(SandboxdFailure::of_path)
}

fn child(of: &str, name: &str) -> String {
    format!("{}/{name}", of.trim_end_matches('/'))
}

/// Returns the workspace of an open session for the caller, and a path in it.
async fn place(
    service: &Service,
    principal: &Principal,
    (id, path): (&str, &str),
) -> SandboxdResult<(Workspace, VirtualPath)> {
    let live = live(service, principal, id).await?;
    Ok((live.workspace(service, principal), parsed(path)?))
}

pub(super) async fn read(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(SandboxdPath { path }): Json<SandboxdPath>,
) -> SandboxdResult<Response> {
    let (workspace, path) = place(&service, &principal, (&id, &path)).await?;
    let read = v1::files::read(v1::SessionPath { workspace, path }, HeaderMap::new()).await;
    read.map_err(SandboxdFailure::of_path)
}

pub(super) async fn write(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Query(SandboxdPath { path }): Query<SandboxdPath>,
    body: Body,
) -> SandboxdResult<StatusCode> {
    let (workspace, path) = place(&service, &principal, (&id, &path)).await?;
    let written = v1::files::write(v1::SessionPath { workspace, path }, HeaderMap::new(), body).await;
    written.map(|_| StatusCode::NO_CONTENT).map_err(SandboxdFailure::of_path)
}

pub(super) async fn stat(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(SandboxdPath { path }): Json<SandboxdPath>,
) -> SandboxdResult<Json<SandboxdEntry>> {
    let (workspace, at) = place(&service, &principal, (&id, &path)).await?;
    let entry = workspace.files().entry(&at).await.map_err(SandboxdFailure::of_path)?;
    match entry.kind {
        EntryKind::File | EntryKind::Directory => Ok(Json(SandboxdEntry::of(&entry, path))),
        EntryKind::Special => Err(SandboxdFailure::by_command("not a regular file")),
        EntryKind::BrokenLink => {
            let sentence = format!("`{}` is a link to nothing", path.escape_debug());
            Err(SandboxdFailure::of_path(Error::new(ErrorKind::NotFound, sentence)))
        }
    }
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(SandboxdPath { path }): Json<SandboxdPath>,
) -> SandboxdResult<Json<Vec<SandboxdEntry>>> {
    let (workspace, at) = place(&service, &principal, (&id, &path)).await?;
    let request = ListRequest::default().keep(MOST_ENTRIES);
    let listing = workspace.files().list_path(&at, &request).await.map_err(SandboxdFailure::of_path)?;
    if listing.left_out > 0 {
        return Err(SandboxdFailure::by_command("the directory has too many entries"));
    }
    let named = |entry: &Entry| Some(SandboxdEntry::of(entry, child(&path, entry.path.name()?)));
    let mut entries: Vec<SandboxdEntry> = listing.entries.iter().filter_map(named).collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Json(entries))
}

pub(super) async fn real_path(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(SandboxdPath { path }): Json<SandboxdPath>,
) -> SandboxdResult<Json<serde_json::Value>> {
    let (workspace, at) = place(&service, &principal, (&id, &path)).await?;
    let real = resolved(&workspace, &at).await.map_err(|error| match error.kind() {
        // Below a file, and in a loop, a command answers what `realpath` would.
        ErrorKind::NotDirectory => SandboxdFailure::by_command(error.sentence()),
        _ => SandboxdFailure::of_path(error),
    })?;
    Ok(Json(json!({ "path": real.to_string() })))
}

/// Follows links as far as the path exists; a missing rest stays as it is.
async fn resolved(workspace: &Workspace, at: &VirtualPath) -> Result<VirtualPath> {
    let (mut there, mut missing) = (at.clone(), Vec::new());
    loop {
        match workspace.files().resolve(&there, Symlink::Follow).await {
            Ok(Resolved { real, .. }) => {
                return Ok(missing.iter().rev().fold(real, |real, name: &String| real.child_unchecked(name)));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => match (there.parent(), there.name()) {
                (Some(parent), Some(name)) => {
                    missing.push(name.to_owned());
                    there = parent;
                }
                _ => return Err(error),
            },
            Err(error) => return Err(error),
        }
    }
}

pub(super) async fn make_directory(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(SandboxdPath { path }): Json<SandboxdPath>,
) -> SandboxdResult<StatusCode> {
    let (workspace, at) = place(&service, &principal, (&id, &path)).await?;
    workspace.files().make_dir_path(&at).await.map_err(SandboxdFailure::of_path)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a file, a link, or a directory with everything in it; never the working directory.
pub(super) async fn remove(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Json(SandboxdPath { path }): Json<SandboxdPath>,
) -> SandboxdResult<StatusCode> {
    let (workspace, at) = place(&service, &principal, (&id, &path)).await?;
    let above =
        resolved(&workspace, &at.parent().unwrap_or_else(VirtualPath::root)).await.map_err(SandboxdFailure::of_path)?;
    let target = at.name().map_or(above.clone(), |name| above.child_unchecked(name));
    if workspace.working_directory().await?.is_within(&target) {
        let sentence = format!("cannot remove `{}`: it contains the working directory", path.escape_debug());
        return Err(SandboxdFailure::of_path(Error::new(ErrorKind::InvalidArgument, sentence)));
    }
    workspace.files().remove_path(&target, Removal::Tree).await.map_err(SandboxdFailure::of_path)?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_absolute_path_is_looked_up_here() {
        assert_eq!(parsed("/workspace//a").ok().map(|path| path.to_string()).as_deref(), Some("/workspace/a"));
        for (typed, status) in [("a", 400), ("", 400), ("/a/../b", 409), ("/a/.", 409), ("/a\0", 400)] {
            assert_eq!(parsed(typed).unwrap_err().status().as_u16(), status, "{typed:?}");
        }
        assert_eq!((child("/", "a"), child("/b/", "a")), ("/a".to_owned(), "/b/a".to_owned()));
    }
}
