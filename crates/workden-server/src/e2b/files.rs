//! `/files`: the content of files, whole or in pieces, as the body of a request or as the parts of a form.

use axum::{
    Json,
    body::{Body, Bytes, to_bytes},
    extract::{FromRequest, Multipart, Request, multipart::Field},
    http::{
        HeaderMap, StatusCode,
        header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use serde::Serialize;
use tokio::sync::mpsc;
use workden::{Backend, Error, ErrorKind, Result, VirtualPath};
use workden_core::{Attributes, ContentStream, Expect, Symlink};

use super::{
    entries::name,
    envd::{EnvdCall, check_user},
    failure::{E2bFailure, E2bQuery},
    metadata::{self, Metadata},
    signature::SignedQuery,
};
use crate::v1::files::{body_pieces, gathered, pieces};

/// Pieces of an upload that wait to be written.
const PIECES: usize = 8;
/// Bytes of a refused upload that are read before the answer.
const DRAINED_BYTES: usize = 1 << 20;

/// A file that was written.
#[derive(Debug, Serialize)]
pub(super) struct UploadedFile {
    path: String,
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    metadata: Metadata,
}

impl UploadedFile {
    fn at(path: &VirtualPath, metadata: &Attributes) -> Self {
        Self { path: path.to_string(), name: name(path), kind: "file", metadata: metadata::shown(metadata) }
    }
}

fn check(query: &SignedQuery) -> Result<(), E2bFailure> {
    check_user(&query.username).map_err(|error| E2bFailure::new(StatusCode::UNAUTHORIZED, error.to_string()))
}

pub(super) async fn read(call: EnvdCall, E2bQuery(query): E2bQuery<SignedQuery>) -> Result<Response, E2bFailure> {
    check(&query)?;
    let path = call.path(&query.path).await?;
    let at = call.workspace.files().resolve(&path, Symlink::Follow).await?;
    let entry = call.workspace.files().stat(&at).await?;
    if !entry.is_file() {
        return Err(E2bFailure::invalid(format!("path '{path}' is not a regular file")));
    }
    let size = entry.size.unwrap_or(0);
    let content = pieces(call.workspace, at, 0, size);
    // The first piece is read before the answer starts, so that a refusal is one.
    let mut content = Box::pin(content.peekable());
    if let Some(Err(error)) = content.as_mut().peek().await {
        return Err(error.clone().into());
    }
    let head = [(CONTENT_TYPE, "application/octet-stream".to_owned()), (CONTENT_LENGTH, size.to_string())];
    Ok((head, Body::from_stream(content)).into_response())
}

pub(super) async fn write(
    call: EnvdCall,
    E2bQuery(query): E2bQuery<SignedQuery>,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Vec<UploadedFile>>, E2bFailure> {
    check(&query)?;
    let metadata = match metadata::of_upload(&headers) {
        Ok(metadata) => metadata,
        Err(refused) => {
            // A client that is still sending when the connection closes would lose the answer.
            let _ = to_bytes(request.into_body(), DRAINED_BYTES).await;
            return Err(refused);
        }
    };
    if headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(E2bFailure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "compressed uploads are not supported"));
    }
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("multipart/form-data") {
        let path = call.path(&query.path).await?;
        store(&call, &path, body_pieces(request.into_body()), &metadata).await?;
        return Ok(Json(vec![UploadedFile::at(&path, &metadata)]));
    }
    let mut form =
        Multipart::from_request(request, &()).await.map_err(|error| E2bFailure::invalid(error.body_text()))?;
    let mut written = Vec::new();
    while let Some(field) = form.next_field().await.map_err(|error| E2bFailure::invalid(error.body_text()))? {
        if field.name() != Some("file") {
            continue;
        }
        let named = if query.path.is_empty() { field.file_name().unwrap_or_default() } else { &query.path };
        if named.is_empty() {
            return Err(E2bFailure::invalid("missing path: name it in the query or as the file name of the part"));
        }
        let path = call.path(named).await?;
        write_part(&call, &path, field, &metadata).await?;
        written.push(UploadedFile::at(&path, &metadata));
    }
    match written.is_empty() {
        true => Err(E2bFailure::invalid("missing part `file`")),
        false => Ok(Json(written)),
    }
}

/// Writes a part as it comes: the writer takes a stream of its own, and the part borrows the request.
async fn write_part(call: &EnvdCall, path: &VirtualPath, mut field: Field<'_>, metadata: &Attributes) -> Result<()> {
    let (sender, receiver) = mpsc::channel::<Result<Bytes>>(PIECES);
    let content = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    let sending = async move {
        loop {
            let piece = match field.chunk().await {
                Ok(Some(piece)) => Ok(piece),
                Ok(None) => return,
                Err(error) => Err(Error::new(ErrorKind::Io, "the body ended before its end").with_source(error)),
            };
            let is_last = piece.is_err();
            // A writer that failed takes no more.
            if sender.send(piece).await.is_err() || is_last {
                return;
            }
        }
    };
    let (written, ()) = tokio::join!(store(call, path, content.boxed(), metadata), sending);
    written
}

async fn store(call: &EnvdCall, path: &VirtualPath, pieces: ContentStream, metadata: &Attributes) -> Result<()> {
    let (files, content) = (call.workspace.files(), gathered(pieces).await?);
    let at = files.resolve(path, Symlink::Follow).await?;
    let written = files.write(&at, content, Expect::Anything).await?;
    metadata::keep(files, &at, &written, metadata).await
}
