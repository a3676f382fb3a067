//! Connections of the HTTP client: byte streams to a port of a pod.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::Uri;
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower::Service;
use workden_core::{Error, Result};

use super::super::{
    cluster::Cluster,
    reach::{self, PodStream, Reach},
};

/// A port of a pod, and the way to it.
#[derive(Clone, Debug)]
pub(super) struct PodConnector {
    pub(super) cluster: Cluster,
    pub(super) pod: Arc<str>,
    pub(super) port: u16,
    pub(super) way: Reach,
}

impl Service<Uri> for PodConnector {
    type Response = TokioIo<PodConnection>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let Self { cluster, pod, port, way } = self.clone();
        Box::pin(async move { Ok(TokioIo::new(PodConnection(reach::stream(&cluster, &pod, port, way).await?))) })
    }
}

/// A stream of the client's pool.
pub(super) struct PodConnection(Box<dyn PodStream>);

impl Connection for PodConnection {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for PodConnection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for PodConnection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
