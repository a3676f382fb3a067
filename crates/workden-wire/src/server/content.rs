//! Reading and writing bytes: the content is the body, and its description is in a header.

use axum::{
    Router,
    body::{Body, HttpBody},
    extract::State,
    http::HeaderMap,
    response::Response,
    routing::{post, put},
};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderName, HeaderValue, header::CONTENT_TYPE};
use http_body_util::BodyExt;
use workden_core::{Backend, Content, ContentStream, Error, ErrorKind, Result, Written};

use super::{
    Shared,
    answer::{answer, arguments, refusal},
};
use crate::{
    calls::{Call, Read, ReadAnswer, Write},
    header::{self, ANSWER, ARGUMENTS},
};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route(Read::PATH, post(read)).route(Write::PATH, put(write))
}

async fn read(State(served): State<Shared>, body: Body) -> Response {
    let outcome = async {
        let call = arguments::<Read>(body).await?;
        let slice = served.sandbox.read(&call.at, *call.range).await?;
        let said = header::to_header(&ReadAnswer { size: slice.size, modified: slice.modified })?;
        let mut response = raw(Body::from(slice.bytes));
        response.headers_mut().insert(HeaderName::from_static(ANSWER), said);
        Ok(response)
    };
    outcome.await.unwrap_or_else(|error: Error| refusal(&error))
}

async fn write(State(served): State<Shared>, headers: HeaderMap, body: Body) -> Response {
    answer(written(&served, &headers, body).await)
}

async fn written(served: &Shared, headers: &HeaderMap, body: Body) -> Result<Written> {
    let call: Write = header::from_header(headers, ARGUMENTS)?;
    let room = body.size_hint().exact().and_then(|size| served.gathering.room(size));
    let content = match &room {
        Some(room) => Content::Whole(gathered(body, room.size()).await?),
        None => Content::Stream(pieces(body)),
    };
    served.sandbox.write(&call.at, content, *call.expect).await
}

/// Reads a body of this size into memory. Each piece is copied as it arrives, so that its memory is free for the next.
async fn gathered(mut body: Body, size: usize) -> Result<Bytes> {
    let mut whole = Vec::with_capacity(size);
    while let Some(frame) = body.frame().await {
        if let Ok(piece) = frame.map_err(|error| broke_off().with_source(error))?.into_data() {
            whole.extend_from_slice(&piece);
        }
    }
    Ok(whole.into())
}

/// Returns a body as content. A body that breaks off is an error, so that nothing is changed.
pub(super) fn pieces(body: Body) -> ContentStream {
    Box::pin(body.into_data_stream().map(|piece| piece.map_err(|error| broke_off().with_source(error))))
}

/// Returns a response whose body is content.
pub(super) fn raw(body: Body) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    response
}

fn broke_off() -> Error {
    Error::new(ErrorKind::Gone, "the content broke off before its end")
}
