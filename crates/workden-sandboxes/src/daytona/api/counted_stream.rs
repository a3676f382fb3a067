//! The streams of the client's pool, which count what they hear.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use http::Uri;
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower::Service;

use crate::dial::{Dialer, NetStream};

impl Service<Uri> for Dialer {
    type Response = TokioIo<CountedStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let dialer = self.clone();
        Box::pin(async move {
            let stream = dialer.dial(&address).await?;
            Ok(TokioIo::new(CountedStream { stream, heard: Heard::default() }))
        })
    }
}

/// How many bytes came since something was last sent: none means that a request got no byte of an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<AtomicUsize>);

impl Heard {
    pub(super) fn is_nothing(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

/// A connection of the client's pool.
pub(crate) struct CountedStream {
    stream: Box<dyn NetStream>,
    heard: Heard,
}

impl Connection for CountedStream {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.heard.clone())
    }
}

impl AsyncRead for CountedStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        self.heard.0.fetch_add(into.filled().len() - before, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.heard.0.store(0, Ordering::Relaxed);
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
