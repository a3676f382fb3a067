//! A connection to a port at the other end of a byte stream.

use axum::body::Body;
use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt};
use http::Method;
use http_body_util::BodyDataStream;
use hyper::body::Incoming;
use tokio::io;
use tokio_util::{
    compat::TokioAsyncReadCompatExt,
    io::{ReaderStream, StreamReader},
};
use workden_core::{Result, sandbox::PortStream};

use super::connection::{Connection, broken};
use crate::{calls::Connect, limits::FRAME_BYTES};

/// Opens a connection. What is written goes through a pipe of this side, and waits there for the other side.
pub(super) async fn connect(connection: &Connection, port: u16) -> Result<PortStream> {
    let (sending, sent) = io::duplex(FRAME_BYTES as usize);
    let body = Body::from_stream(ReaderStream::with_capacity(sent, FRAME_BYTES as usize));
    let response = connection.with_body(Method::PUT, &Connect::new(&port), body).await?;
    let received = StreamReader::new(pieces(response.into_body()));
    Ok(Box::pin(io::join(received, sending).compat()))
}

fn pieces(body: Incoming) -> impl Stream<Item = io::Result<Bytes>> + Send + Unpin {
    let lost = |error| io::Error::new(io::ErrorKind::ConnectionReset, broken(error));
    BodyDataStream::new(body).map_err(lost).filter(|piece| {
        let some = piece.as_ref().map_or(true, |piece| !piece.is_empty());
        std::future::ready(some)
    })
}
