//! Watched directories: the events are the body of the response, a line of JSON each.

use axum::{Router, body::Body, extract::State, response::Response, routing::post};
use bytes::Bytes;
use futures_util::StreamExt;
use serde::Serialize;
use workden_core::{Error, Result, Sandbox, sandbox::FileEvent};

use super::{
    Shared,
    answer::{arguments, refusal},
    content::raw,
};
use crate::calls::{Call, Watch, WatchLine};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route(Watch::PATH, post(watch))
}

async fn watch(State(served): State<Shared>, body: Body) -> Response {
    let begun = async {
        let call = arguments::<Watch>(body).await?;
        served.sandbox.watch(&call.at, &call.request).await
    };
    match begun.await {
        Ok(events) => raw(Body::from_stream(events.map(line))),
        Err(error) => refusal(&error),
    }
}

fn line(event: Result<FileEvent>) -> Result<Bytes> {
    let line = match event {
        Ok(event) => WatchLine::Event(event),
        Err(error) => WatchLine::Error(error),
    };
    json_line(&line)
}

fn json_line(line: &impl Serialize) -> Result<Bytes> {
    let mut text = serde_json::to_vec(line)
        .map_err(|error| Error::new(workden_core::ErrorKind::Io, "cannot serialise an event").with_source(error))?;
    text.push(b'\n');
    Ok(text.into())
}
