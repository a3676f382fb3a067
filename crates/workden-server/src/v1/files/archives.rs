//! Directories as archives: one request brings many files in or out.

use std::sync::Arc;

use axum::{
    Json,
    body::Body,
    http::{
        HeaderValue,
        header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use futures_util::stream;
use serde::Serialize;
use utoipa::ToSchema;
use workden::Backend;
use workden_wire::tree::{Packer, TreeReport, unpack};

use super::content::body_pieces;
use crate::{
    api_error::ApiErrorBody,
    service::Answer,
    v1::{
        description::RawBytes,
        session::{FilePath, NamedSession, SessionPath},
    },
};

/// What an archive brought.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct UnpackedArchive {
    files: u64,
    directories: u64,
    /// Bytes of all files.
    bytes: u64,
    /// Links of the archive, which are not created.
    skipped_links: u64,
    /// Devices, sockets and other special files.
    skipped_special: u64,
    /// Entries whose names are not UTF-8.
    skipped_names: u64,
}

impl From<TreeReport> for UnpackedArchive {
    fn from(report: TreeReport) -> Self {
        let TreeReport { files, directories, bytes, skipped_links, skipped_special, skipped_names } = report;
        Self { files, directories, bytes, skipped_links, skipped_special, skipped_names }
    }
}

/// Download a directory as an archive
///
/// A tar archive of the files and directories below a path. An archive that breaks off is not complete: its last blocks
/// are missing, and `tar` says so.
#[utoipa::path(get, operation_id = "download_archive", path = "/v1/sessions/{id}/files/archive", tag = "files",
    params(NamedSession, FilePath), responses(
        (status = 200, description = "The archive", body = inline(RawBytes), content_type = "application/x-tar"),
        (status = 404, description = "File not found", body = ApiErrorBody),
    ))]
pub(super) async fn download(SessionPath { workspace, path }: SessionPath) -> Answer<Response> {
    let files: Arc<dyn Backend> = Arc::new(workspace.files().clone());
    let mut packer = Packer::new(files, path);
    // An error before the first piece is an ordinary answer.
    let first = packer.next().await?;
    let pieces = stream::try_unfold((packer, first), |(mut packer, first)| async move {
        let next = match first {
            Some(piece) => Some(piece),
            None => packer.next().await?,
        };
        Ok::<_, workden::Error>(next.map(|piece| (piece, (packer, None))))
    });
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("application/x-tar")),
        (CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"files.tar\"")),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// Upload an archive
///
/// Creates the files and directories of a tar archive below a directory; existing files are replaced. Links are skipped
/// and counted, and a name that leads out of the directory ends the upload.
#[utoipa::path(put, operation_id = "upload_archive", path = "/v1/sessions/{id}/files/archive", tag = "files",
    params(NamedSession, FilePath),
    request_body(content = inline(RawBytes), content_type = "application/x-tar"),
    responses(
        (status = 200, description = "Everything is unpacked", body = UnpackedArchive),
        (status = 400, description = "The body is not a whole archive", body = ApiErrorBody),
        (status = 403, description = "The policy denies a file", body = ApiErrorBody),
    ))]
pub(super) async fn upload(SessionPath { workspace, path }: SessionPath, body: Body) -> Answer<Json<UnpackedArchive>> {
    let report = unpack(workspace.files(), &path, body_pieces(body)).await?;
    Ok(Json(report.into()))
}
