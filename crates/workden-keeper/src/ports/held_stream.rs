//! `HeldStream`: a connection that holds something as long as it is open.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use futures_io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::compat::{Compat, TokioAsyncReadCompatExt};

/// A connection, and what is held until it is dropped.
pub(crate) struct HeldStream<H> {
    stream: Compat<TcpStream>,
    _held: H,
}

impl<H> HeldStream<H> {
    pub(crate) fn new(stream: TcpStream, held: H) -> Self {
        Self { stream: stream.compat(), _held: held }
    }
}

impl<H: Unpin> AsyncRead for HeldStream<H> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_read(context, room)
    }
}

impl<H: Unpin> AsyncWrite for HeldStream<H> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(context)
    }
}
