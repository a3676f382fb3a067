//! Faults that do not depend on a route: what happens to an answer, or before it.

use std::io;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::{
    Response, StatusCode,
    body::Frame,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
};

use crate::{
    answer::{Answer, Refused, full},
    faults::FaultKind,
    multipart,
};

/// Bytes of a piece of an oversized body.
const PIECE: u64 = 64 * 1024;

/// Answers as the fault demands. An error cuts the connection.
pub(crate) async fn answer(fault: Option<FaultKind>, answer: impl Future<Output = Answer>) -> io::Result<Answer> {
    match fault {
        None | Some(FaultKind::SplitMarks | FaultKind::EndsInError { .. } | FaultKind::SlowStart { .. }) => {
            Ok(answer.await)
        }
        Some(FaultKind::Status { status, retry_after, body }) => Ok(with_status(status, retry_after, body)),
        Some(FaultKind::Hang) => std::future::pending().await,
        Some(FaultKind::CloseBeforeAnswer) => Err(cut()),
        Some(FaultKind::LostAnswer) => {
            answer.await;
            Err(cut())
        }
        Some(fault @ (FaultKind::TruncatedBody | FaultKind::OversizedBody { .. } | FaultKind::NoEndBoundary)) => {
            let answer = answer.await;
            // The body of a WebSocket is what its route sends.
            if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
                return Ok(answer);
            }
            match fault {
                FaultKind::OversizedBody { bytes } => oversized(answer, bytes).await,
                FaultKind::NoEndBoundary => without_end(answer).await,
                _ => truncated(answer).await,
            }
        }
    }
}

fn cut() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "cut by a fault")
}

fn with_status(status: u16, retry_after: Option<String>, body: Option<String>) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = Refused::new(status, "a fault of the stub").answer("", "");
    if let Some(body) = body {
        *answer.body_mut() = full(body);
    }
    if let Some(value) = retry_after.and_then(|value| HeaderValue::from_str(&value).ok()) {
        answer.headers_mut().insert(RETRY_AFTER, value);
    }
    answer
}

/// Announces the whole body, and sends half of it.
async fn truncated(answer: Answer) -> io::Result<Answer> {
    let (parts, body) = answer.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let half = bytes.slice(..bytes.len() / 2);
    let frames = stream::iter([Ok(Frame::data(half)), Err(cut())]);
    let mut answer = Response::from_parts(parts, StreamBody::new(frames).boxed_unsync());
    answer.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from(bytes.len().max(1)));
    Ok(answer)
}

/// Sends spaces after the body, which are made as they are sent.
async fn oversized(answer: Answer, more: u64) -> io::Result<Answer> {
    let (parts, body) = answer.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let piece = Bytes::from(vec![b' '; usize::try_from(PIECE).unwrap_or(1)]);
    let spaces = stream::iter(0..more.div_ceil(PIECE)).map(move |at| {
        let left = usize::try_from(more - at * PIECE).unwrap_or(usize::MAX);
        Ok(Frame::data(piece.slice(..piece.len().min(left))))
    });
    let frames = stream::iter([Ok(Frame::data(bytes))]).chain(spaces);
    let mut answer = Response::from_parts(parts, StreamBody::new(frames).boxed_unsync());
    answer.headers_mut().remove(CONTENT_LENGTH);
    Ok(answer)
}

/// Leaves out the last boundary, as if the writer had ended early.
async fn without_end(answer: Answer) -> io::Result<Answer> {
    let (parts, body) = answer.into_parts();
    let bytes = body.collect().await?.to_bytes();
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let end = multipart::boundary(kind).map(|boundary| multipart::end(&boundary)).unwrap_or_default();
    let bytes = match bytes.strip_suffix(end.as_bytes()) {
        Some(kept) => bytes.slice_ref(kept),
        None => bytes,
    };
    Ok(Response::from_parts(parts, full(bytes)))
}
