//! Whole files as bodies: ranges, versions as ETags, conditional writes.

use axum::{
    Json,
    body::Body,
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, RANGE},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use utoipa::ToSchema;
use workden::{Backend, Error, ErrorKind, Result, Workspace};
use workden_core::{ByteRange, Content, ContentStream, Expect, Resolved, Symlink, Version};

use crate::{
    api_error::{ApiError, ApiErrorBody},
    service::Answer,
    v1::{
        description::RawBytes,
        session::{FilePath, NamedSession, SessionPath},
    },
};

/// A file up to this size is read at once, and its ETag is the version of its content.
const WHOLE: u64 = 8 << 20;
/// Larger files are sent in pieces of this size.
const PIECE: u64 = 1 << 20;
/// Read a file
///
/// Honours `Range` and `If-None-Match`. Small files have the version of their content as a strong ETag.
#[utoipa::path(get, operation_id = "read_file", path = "/v1/sessions/{id}/files", tag = "files",
    params(NamedSession, FilePath),
    responses(
        (status = 200, description = "The content", body = inline(RawBytes), content_type = "application/octet-stream"),
        (status = 206, description = "A part of it",
            body = inline(RawBytes), content_type = "application/octet-stream"),
        (status = 304, description = "It has the version of `If-None-Match`"),
        (status = 403, description = "The policy denies it", body = ApiErrorBody),
        (status = 404, description = "File not found", body = ApiErrorBody),
        (status = 416, description = "The range is past the end", body = ApiErrorBody),
    ))]
pub(crate) async fn read(SessionPath { workspace, path }: SessionPath, headers: HeaderMap) -> Answer<Response> {
    let at = workspace.files().resolve(&path, Symlink::Follow).await?;
    // One look: most files are smaller than this.
    let first = workspace.files().read(&at, ByteRange::Part { offset: 0, length: PIECE }).await?;
    let size = first.size;
    if size <= WHOLE {
        let content = match size <= PIECE {
            true => first.bytes,
            false => workspace.files().read(&at, ByteRange::Whole { most: WHOLE }).await?.bytes,
        };
        let tag = format!("\"{}\"", Version::of(&content));
        if names(&headers, &IF_NONE_MATCH, &tag) {
            return Ok((StatusCode::NOT_MODIFIED, [(ETAG, value(&tag))]).into_response());
        }
        let size = content.len() as u64;
        return Ok(match range(&headers, size)? {
            None => (head(&tag, size), content).into_response(),
            Some((from, to)) => {
                #[expect(clippy::cast_possible_truncation, reason = "both are at most the length")]
                let part = content.slice(from as usize..to as usize);
                (StatusCode::PARTIAL_CONTENT, part_head(&tag, (from, to), size), part).into_response()
            }
        });
    }
    let modified = first.modified.map_or(0, workden_core::Timestamp::as_nanos);
    let tag = format!("W/\"{size:x}-{modified:x}\"");
    let (status, (from, to)) = match range(&headers, size)? {
        None => (StatusCode::OK, (0, size)),
        Some(part) => (StatusCode::PARTIAL_CONTENT, part),
    };
    let body = Body::from_stream(pieces(workspace, at, from, to));
    Ok(match status {
        StatusCode::OK => (head(&tag, size), body).into_response(),
        _ => (status, part_head(&tag, (from, to), size), body).into_response(),
    })
}

/// Reads a part of a file piece by piece, as the client takes it. A file that shrinks meanwhile ends with an error.
pub(crate) fn pieces(
    workspace: Workspace,
    at: Resolved,
    from: u64,
    to: u64,
) -> impl futures_util::Stream<Item = Result<Bytes>> {
    stream::try_unfold((workspace, at, from), move |(workspace, at, offset)| async move {
        if offset >= to {
            return Ok(None);
        }
        let range = ByteRange::Part { offset, length: PIECE.min(to - offset) };
        let piece = workspace.files().read(&at, range).await?.bytes;
        if piece.is_empty() {
            return Err(Error::new(ErrorKind::Conflict, "the file became shorter while it was read"));
        }
        let next = offset + piece.len() as u64;
        Ok(Some((piece, (workspace, at, next))))
    })
}

fn head(tag: &str, size: u64) -> [(HeaderName, HeaderValue); 4] {
    let octets = HeaderValue::from_static("application/octet-stream");
    let bytes = HeaderValue::from_static("bytes");
    [(ETAG, value(tag)), (CONTENT_TYPE, octets), (ACCEPT_RANGES, bytes), (CONTENT_LENGTH, size.into())]
}

fn part_head(tag: &str, (from, to): (u64, u64), size: u64) -> [(HeaderName, HeaderValue); 5] {
    let [tag, kind, bytes, (length, _)] = head(tag, size);
    let range = format!("bytes {from}-{}/{size}", to.saturating_sub(1));
    [tag, kind, bytes, (length, (to - from).into()), (CONTENT_RANGE, value(&range))]
}

fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// Whether a header names this tag, or any.
fn names(headers: &HeaderMap, name: &HeaderName, tag: &str) -> bool {
    let texts = headers.get_all(name).iter().filter_map(|text| text.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|named| matches!(named.trim(), "*") || named.trim() == tag)
}

/// Returns the first and the next byte of the part that is asked for; `None` for all.
fn range(headers: &HeaderMap, size: u64) -> Answer<Option<(u64, u64)>> {
    let Some(text) = headers.get(RANGE).and_then(|text| text.to_str().ok()) else { return Ok(None) };
    // What is not understood is ignored, as HTTP has it; several parts are not supported.
    let Some((from, to)) = text.strip_prefix("bytes=").and_then(|part| part.split_once('-')) else { return Ok(None) };
    let (from, to): (Option<u64>, Option<u64>) = (from.trim().parse().ok(), to.trim().parse().ok());
    let part = match (from, to) {
        (Some(from), Some(to)) if from <= to => (from, to.saturating_add(1).min(size)),
        (Some(from), None) => (from, size),
        (None, Some(last)) => (size.saturating_sub(last), size),
        _ => return Ok(None),
    };
    match part.0 < size {
        true => Ok(Some(part)),
        false => {
            let sentence = format!("the file has {size} bytes, and the range starts at {}", part.0);
            Err(Error::new(ErrorKind::OutOfRange, sentence).into())
        }
    }
}

/// A file that was written.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WrittenFile {
    path: String,
    /// The version of the content, as in the ETag.
    version: String,
}

/// Write a file
///
/// Replaces its content atomically, and creates its parent directories. `If-Match` with an ETag writes only over that
/// version; `If-None-Match: *` only where no file is.
#[utoipa::path(put, operation_id = "write_file", path = "/v1/sessions/{id}/files", tag = "files",
    params(NamedSession, FilePath),
    request_body(content = inline(RawBytes), content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "The file has this content", body = WrittenFile),
        (status = 403, description = "The policy denies it", body = ApiErrorBody),
        (status = 409, description = "The file has another version", body = ApiErrorBody),
    ))]
pub(crate) async fn write(
    SessionPath { workspace, path }: SessionPath,
    headers: HeaderMap,
    body: Body,
) -> Answer<Response> {
    let expect = expected(&headers)?;
    let at = workspace.files().resolve(&path, Symlink::Follow).await?;
    let written = workspace.files().write(&at, gathered(body_pieces(body)).await?, expect).await?;
    let (path, version) = (written.path.to_string(), written.version.to_string());
    Ok(([(ETAG, value(&format!("\"{version}\"")))], Json(WrittenFile { path, version })).into_response())
}

/// Returns a body as content in pieces.
pub(crate) fn body_pieces(body: Body) -> ContentStream {
    let cut = |error| Error::new(ErrorKind::Io, "the body ended before its end").with_source(error);
    body.into_data_stream().map_err(cut).boxed()
}

/// Gathers small content, so that a question for approval can show the change; passes a large one on as it comes.
pub(crate) async fn gathered(mut pieces: ContentStream) -> Result<Content> {
    let mut gathered = Vec::new();
    while (gathered.len() as u64) < WHOLE {
        match pieces.try_next().await? {
            Some(piece) => gathered.extend_from_slice(&piece),
            None => return Ok(Content::Whole(gathered.into())),
        }
    }
    let first = stream::once(async move { Ok(Bytes::from(gathered)) });
    Ok(Content::Stream(first.chain(pieces).boxed()))
}

/// Returns what a writer expects.
fn expected(headers: &HeaderMap) -> Answer<Expect> {
    let text = |name: &HeaderName| headers.get(name).and_then(|text| text.to_str().ok()).map(str::trim);
    match (text(&IF_MATCH), text(&IF_NONE_MATCH)) {
        (None, None) => Ok(Expect::Anything),
        (None, Some("*")) => Ok(Expect::Absent),
        (Some(tag), None) => version(tag).map(Expect::Version),
        _ => Err(ApiError::invalid("invalid condition").hint("send `If-Match: \"VERSION\"` or `If-None-Match: *`")),
    }
}

pub(super) fn version(tag: &str) -> Answer<Version> {
    let digits = tag.trim_matches('"').to_owned();
    serde_json::from_value(serde_json::Value::String(digits))
        .map_err(|_| ApiError::invalid("invalid version").hint("use the ETag of an answer about the file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        let part = |text: &'static str| {
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static(text))]);
            range(&headers, 10).map_err(|error| error.status)
        };
        for (text, expected) in [
            ("bytes=0-3", Some((0, 4))),
            ("bytes=4-", Some((4, 10))),
            ("bytes=-3", Some((7, 10))),
            ("bytes=-30", Some((0, 10))),
            ("bytes=5-99", Some((5, 10))),
            ("bytes=3-1", None),
            ("lines=1-2", None),
        ] {
            assert_eq!(part(text).unwrap(), expected, "{text}");
        }
        assert_eq!(part("bytes=10-"), Err(StatusCode::RANGE_NOT_SATISFIABLE));
    }
}
