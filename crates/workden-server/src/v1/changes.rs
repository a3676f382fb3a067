//! `/v1/sessions/{id}/changes`: what a session has changed since its start, and the way back.

use std::sync::Arc;

use axum::{
    Json,
    extract::FromRequestParts,
    http::{HeaderValue, StatusCode, header::CONTENT_TYPE, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::VirtualPath;
use workden_core::Version;

use super::session::{FilePath, NamedSession};
use crate::{
    api_error::{ApiError, ApiErrorBody},
    api_input::{ApiJson, ApiPath, ApiQuery},
    changes::{ComparedSession, FileChange},
    identity::Principal,
    service::{Answer, Service},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(file))
        .routes(routes!(patch))
        .routes(routes!(revert))
        .routes(routes!(accept))
}

/// What a session has changed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangesView {
    /// By path.
    changes: Vec<FileChangeView>,
    /// Names that were not compared: links, special files, names that are not UTF-8, and what you may not read.
    not_compared: u64,
    /// Whether there are more.
    truncated: bool,
}

/// A file that differs from the start of the session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileChangeView {
    #[schema(value_type = String)]
    path: VirtualPath,
    kind: ChangeKind,
    /// Bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Bytes at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_before: Option<u64>,
    /// Whether a version is not text.
    binary: bool,
}

/// How a file differs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ChangeKind {
    Added,
    Changed,
    Removed,
}

impl From<FileChange> for FileChangeView {
    fn from(change: FileChange) -> Self {
        let kind = match (&change.before, &change.after) {
            (None, _) => ChangeKind::Added,
            (Some(_), Some(_)) => ChangeKind::Changed,
            (Some(_), None) => ChangeKind::Removed,
        };
        Self {
            kind,
            binary: change.is_binary(),
            size: change.after.map(|item| item.size),
            size_before: change.before.map(|item| item.size),
            path: change.path,
        }
    }
}

/// Both versions of a file. A version that is not there, not text or too large to show is `null`.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileVersions {
    before: Option<String>,
    after: Option<String>,
    /// Whether a version is not text.
    binary: bool,
    /// The version of the present content, for `If-Match` of a write.
    etag: Option<String>,
}

/// A file to bring back.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RevertRequest {
    /// A path in the session; relative paths start at its working directory.
    path: String,
}

impl FromRequestParts<Arc<Service>> for ComparedSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, service: &Arc<Service>) -> Result<Self, ApiError> {
        let principal = Principal::from_request_parts(parts, service).await?;
        let ApiPath(NamedSession { id }) = ApiPath::from_request_parts(parts, service).await?;
        Self::open(Arc::clone(service), principal, &id).await
    }
}

/// List what the session has changed
///
/// Compares its files with those that it started with: none, or those of its snapshot. Reads all of them.
#[utoipa::path(get, operation_id = "list_changes", path = "/v1/sessions/{id}/changes", tag = "changes",
    params(NamedSession), responses((status = 200, description = "The changed files", body = ChangesView)))]
pub(super) async fn list(session: ComparedSession) -> Answer<Json<ChangesView>> {
    let changes = session.changes().await?;
    let views = changes.changes.into_iter().map(FileChangeView::from).collect();
    let (not_compared, truncated) = (changes.not_compared, changes.truncated);
    Ok(Json(ChangesView { changes: views, not_compared, truncated }))
}

/// Show both versions of a file
#[utoipa::path(get, operation_id = "show_change", path = "/v1/sessions/{id}/changes/file", tag = "changes",
    params(NamedSession, FilePath), responses((status = 200, description = "Both versions", body = FileVersions)))]
pub(super) async fn file(
    session: ComparedSession,
    ApiQuery(FilePath { path }): ApiQuery<FilePath>,
) -> Answer<Json<FileVersions>> {
    let path = VirtualPath::parse_from(&session.directory, &path)?;
    session.require_readable(&path)?;
    let (before, after) = (session.before(&path).await?, session.after(&path).await?);
    let etag = after.as_ref().map(|content| format!("\"{}\"", Version::of(content)));
    let is_binary = |content: &Option<Bytes>| content.as_ref().is_some_and(|bytes| text(bytes).is_none());
    let binary = is_binary(&before) || is_binary(&after);
    let shown = |content: Option<Bytes>| content.as_deref().and_then(text);
    Ok(Json(FileVersions { before: shown(before), after: shown(after), binary, etag }))
}

fn text(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).map(str::to_owned)
}

/// Export what the session has changed
///
/// A patch for `git apply`, without modes. Its first lines name the files that are not in it: those that are not text, too
/// large, or in a git directory.
#[utoipa::path(get, operation_id = "export_changes", path = "/v1/sessions/{id}/changes/patch", tag = "changes",
    params(NamedSession),
    responses((status = 200, description = "The patch", body = String, content_type = "text/x-diff")))]
pub(super) async fn patch(session: ComparedSession) -> Answer<Response> {
    let patch = session.patch().await?;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static("text/x-diff; charset=utf-8"))], patch).into_response())
}

/// Bring a file back
///
/// Its content is again that of the start; a file that was not there is removed. The policy judges both as calls of yours.
#[utoipa::path(post, operation_id = "revert_change", path = "/v1/sessions/{id}/changes/revert", tag = "changes",
    params(NamedSession), request_body = RevertRequest,
    responses(
        (status = 204, description = "It is as it was"),
        (status = 403, description = "The policy, or the role of the key, denies it", body = ApiErrorBody),
    ))]
pub(super) async fn revert(
    session: ComparedSession,
    ApiJson(RevertRequest { path }): ApiJson<RevertRequest>,
) -> Answer<StatusCode> {
    let path = VirtualPath::parse_from(&session.directory, &path)?;
    session.revert(&path).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Accept all changes
///
/// The present files become the start: later changes are compared with them.
#[utoipa::path(post, operation_id = "accept_changes", path = "/v1/sessions/{id}/changes/accept", tag = "changes",
    params(NamedSession), responses((status = 204, description = "The list of changes is empty")))]
pub(super) async fn accept(session: ComparedSession) -> Answer<StatusCode> {
    session.accept().await?;
    Ok(StatusCode::NO_CONTENT)
}
