//! The step from a request to its arguments, and from the outcome of a call to a response.

use std::{future::Future, io, sync::Arc};

use axum::{
    body::Body,
    extract::State,
    response::Response,
    routing::{MethodRouter, post},
};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::{Serialize, de::DeserializeOwned};
use workden_core::{Error, ErrorKind, Result, Sandbox};

use super::Shared;
use crate::{calls::Call, errors, limits};

/// Returns the route of a call with JSON in both directions.
pub(super) fn call<C, F, R>(run: F) -> MethodRouter<Shared>
where
    C: Call + DeserializeOwned + Send + 'static,
    F: Fn(Arc<dyn Sandbox>, C) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<C::Answer>> + Send + 'static,
{
    post(move |State(served): State<Shared>, body: Body| async move {
        answer(async { run(Arc::clone(&served.sandbox), arguments::<C>(body).await?).await }.await)
    })
}

/// Reads the arguments of a call, up to the limit.
pub(super) async fn arguments<C: DeserializeOwned>(body: Body) -> Result<C> {
    let text = Limited::new(body, limits::MESSAGE_BYTES).collect().await.map_err(|error| {
        if error.is::<LengthLimitError>() {
            let most = limits::MESSAGE_BYTES;
            return Error::new(ErrorKind::TooLarge, format!("the arguments of a call are larger than {most} bytes"))
                .hint("write large content as a file");
        }
        Error::new(ErrorKind::Gone, "a call broke off before its arguments had come")
    })?;
    serde_json::from_slice(&text.to_bytes())
        .map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("invalid arguments of a call: {error}")))
}

/// Returns the outcome of a call as JSON.
pub(super) fn answer(outcome: Result<impl Serialize>) -> Response {
    match outcome {
        Ok(value) => json(StatusCode::OK, &value),
        Err(error) => refusal(&error),
    }
}

/// Returns an error as a response.
pub(super) fn refusal(error: &Error) -> Response {
    json(errors::status(error.kind()), error)
}

/// Answers a call that the protocol does not have.
pub(super) async fn unknown_call() -> Response {
    let error = Error::new(ErrorKind::Unsupported, "unknown call");
    let mut response = refusal(&error);
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Answers a call with the wrong method.
pub(super) async fn wrong_method() -> Response {
    let error = Error::new(ErrorKind::Unsupported, "wrong HTTP method for this call");
    let mut response = refusal(&error);
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    response
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let mut pieces = Pieces::default();
    // Workden's own data is written into memory, which cannot fail.
    let (status, pieces) = match serde_json::to_writer(&mut pieces, value) {
        Ok(()) => (status, pieces.finish()),
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, Vec::new()),
    };
    let mut response = Response::new(body_of(pieces));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn body_of(mut pieces: Vec<Bytes>) -> Body {
    match pieces.len() {
        0 | 1 => Body::from(pieces.pop().unwrap_or_default()),
        _ => Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, Error>))),
    }
}

/// Bytes of one piece of a large answer; its memory is freed once it is sent.
const PIECE: usize = 64 * 1024;

/// A large answer, in pieces rather than in a buffer that doubles.
#[derive(Default)]
struct Pieces {
    full: Vec<Bytes>,
    last: BytesMut,
}

impl Pieces {
    fn finish(mut self) -> Vec<Bytes> {
        self.full.push(self.last.freeze());
        self.full
    }
}

impl io::Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.last.extend_from_slice(bytes);
        if self.last.len() >= PIECE {
            self.full.push(std::mem::take(&mut self.last).freeze());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
