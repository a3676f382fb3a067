//! Files and directories as entries: describe, list, make, move, copy and remove.

use axum::{Json, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use workden::BackendExt;
use workden_core::{Entry, EntryKind, IfExists, Link, Removal, search::ListRequest};

use crate::{
    api_error::ApiErrorBody,
    api_input::{ApiJson, ApiQuery},
    service::Answer,
    v1::session::{FilePath, NamedSession, OpenSession, SessionPath},
};

/// A file or directory.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileView {
    path: String,
    name: String,
    /// `file`, `directory`, `link` (broken) or `special`.
    kind: &'static str,
    /// Whether it was reached through a symbolic link.
    is_link: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    modified: Option<workden_core::Timestamp>,
}

impl FileView {
    pub(super) fn of(entry: &Entry) -> Self {
        let kind = match entry.kind {
            EntryKind::File => "file",
            EntryKind::Directory => "directory",
            EntryKind::BrokenLink => "link",
            EntryKind::Special => "special",
        };
        let path = entry.path.to_string();
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        Self { path, name, kind, is_link: entry.link == Link::Symbolic, size: entry.size, modified: entry.modified }
    }
}

/// Whether to remove a directory with its content.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RemovalDepth {
    /// Whether a directory is removed with everything in it.
    #[serde(default)]
    recursive: bool,
}

/// Remove a file or directory
#[utoipa::path(delete, operation_id = "remove_file", path = "/v1/sessions/{id}/files", tag = "files",
    params(NamedSession, FilePath, RemovalDepth), responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "File not found", body = ApiErrorBody),
        (status = 409, description = "The directory is not empty", body = ApiErrorBody),
    ))]
pub(super) async fn remove(
    SessionPath { workspace, path }: SessionPath,
    ApiQuery(removal): ApiQuery<RemovalDepth>,
) -> Answer<StatusCode> {
    let what = if removal.recursive { Removal::Tree } else { Removal::One };
    workspace.files().remove_path(&path, what).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Describe a file or directory
#[utoipa::path(get, operation_id = "describe_file", path = "/v1/sessions/{id}/files/stat", tag = "files",
    params(NamedSession, FilePath), responses(
        (status = 200, description = "The entry", body = FileView),
        (status = 404, description = "File not found", body = ApiErrorBody),
    ))]
pub(super) async fn entry(SessionPath { workspace, path }: SessionPath) -> Answer<Json<FileView>> {
    Ok(Json(FileView::of(&workspace.files().entry(&path).await?)))
}

/// The entries of a directory.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileList {
    entries: Vec<FileView>,
    /// How many further entries the directory has.
    left_out: u64,
}

/// List a directory
#[utoipa::path(get, operation_id = "list_directory", path = "/v1/sessions/{id}/files/list", tag = "files",
    params(NamedSession, FilePath),
    responses((status = 200, description = "Directories first, then by name", body = FileList)))]
pub(super) async fn list(SessionPath { workspace, path }: SessionPath) -> Answer<Json<FileList>> {
    let listing = workspace.files().list_path(&path, &ListRequest::default()).await?;
    let entries = listing.entries.iter().map(FileView::of).collect();
    Ok(Json(FileList { entries, left_out: listing.left_out }))
}

/// Make a directory
///
/// Makes its missing parents, too. An existing directory is no error.
#[utoipa::path(post, path = "/v1/sessions/{id}/files/directory", tag = "files",
    params(NamedSession, FilePath), responses((status = 204, description = "It exists")))]
pub(super) async fn make_directory(SessionPath { workspace, path }: SessionPath) -> Answer<StatusCode> {
    workspace.files().make_dir_path(&path).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Where from and where to.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileTransfer {
    from: String,
    to: String,
    /// Whether a file that exists there is replaced.
    #[serde(default)]
    replace: bool,
}

impl FileTransfer {
    fn if_exists(&self) -> IfExists {
        if self.replace { IfExists::Replace } else { IfExists::Refuse }
    }
}

/// Move a file or directory
#[utoipa::path(post, path = "/v1/sessions/{id}/files/move", tag = "files", params(NamedSession),
    request_body = FileTransfer, responses(
        (status = 204, description = "It is there"),
        (status = 409, description = "A file exists there", body = ApiErrorBody),
    ))]
pub(super) async fn move_file(session: OpenSession, ApiJson(transfer): ApiJson<FileTransfer>) -> Answer<StatusCode> {
    let SessionPath { workspace, path: from } = session.at(&transfer.from).await?;
    let to = session.at(&transfer.to).await?.path;
    workspace.files().move_path(&from, &to, transfer.if_exists()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Copy a file
#[utoipa::path(post, path = "/v1/sessions/{id}/files/copy", tag = "files", params(NamedSession),
    request_body = FileTransfer, responses((status = 204, description = "It is there")))]
pub(super) async fn copy_file(session: OpenSession, ApiJson(transfer): ApiJson<FileTransfer>) -> Answer<StatusCode> {
    let SessionPath { workspace, path: from } = session.at(&transfer.from).await?;
    let to = session.at(&transfer.to).await?.path;
    workspace.files().copy_path(&from, &to, transfer.if_exists()).await?;
    Ok(StatusCode::NO_CONTENT)
}
