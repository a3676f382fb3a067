//! Connections to ports: the body of the request is what the client sends, the body of the response what it gets.
//!
//! Invariant: a connection ends with its response. A client that gives up the call closes both ways.

use axum::{Router, body::Body, extract::State, http::HeaderMap, response::Response, routing::put};
use futures_util::StreamExt;
use tokio::{io::AsyncWriteExt, task::JoinHandle};
use tokio_util::{compat::FuturesAsyncReadCompatExt, io::ReaderStream};
use workden_core::{Error, Result, Sandbox};

use super::{
    Shared,
    answer::refusal,
    content::{pieces, raw},
};
use crate::{
    calls::{Call, Connect},
    header::{self, ARGUMENTS},
    limits::FRAME_BYTES,
};

pub(super) fn routes() -> Router<Shared> {
    Router::new().route(Connect::PATH, put(connect))
}

async fn connect(State(served): State<Shared>, headers: HeaderMap, body: Body) -> Response {
    connected(&served, &headers, body).await.unwrap_or_else(|error: Error| refusal(&error))
}

async fn connected(served: &Shared, headers: &HeaderMap, body: Body) -> Result<Response> {
    let call: Connect = header::from_header(headers, ARGUMENTS)?;
    let stream = served.sandbox.connect_port(*call.port).await?;
    let (received, mut sent) = tokio::io::split(stream.compat());
    let sending = Sending(tokio::spawn(async move {
        let mut pieces = pieces(body);
        while let Some(Ok(piece)) = pieces.next().await {
            if sent.write_all(&piece).await.is_err() {
                return;
            }
        }
        let _ = sent.shutdown().await;
    }));
    let received = ReaderStream::with_capacity(received, FRAME_BYTES as usize).map(move |piece| {
        let _ = &sending;
        piece
    });
    Ok(raw(Body::from_stream(received)))
}

/// The task that sends; it ends when this is dropped.
struct Sending(JoinHandle<()>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.abort();
    }
}
