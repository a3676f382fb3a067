//! `ClientStream`: a connection of a client, from inside the sandbox or over a network.

use std::{
    io,
    os::fd::AsFd,
    pin::Pin,
    task::{Context, Poll},
};

use rustix::net::{RecvFlags, recv};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// A connection of a client.
pub(super) enum ClientStream {
    /// Over the socket.
    Local(UnixStream),
    /// Over the port.
    Remote(TcpStream),
}

impl ClientStream {
    /// Waits until the client has sent something, and returns its first byte without taking it; `None` when the client
    /// has disconnected.
    pub(super) async fn first_byte(&self) -> Option<u8> {
        let mut first = [0];
        let length = match self {
            Self::Remote(stream) => stream.peek(&mut first).await,
            // Readiness can be reported although there is nothing yet.
            Self::Local(stream) => loop {
                stream.readable().await.ok()?;
                let seen = stream.try_io(Interest::READABLE, || {
                    recv(stream.as_fd(), &mut first[..], RecvFlags::PEEK).map_err(io::Error::from)
                });
                match seen {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    seen => break seen.map(|(_, length)| length),
                }
            },
        };
        length.is_ok_and(|length| length > 0).then_some(first[0])
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Local(stream) => Pin::new(stream).poll_read(context, into),
            Self::Remote(stream) => Pin::new(stream).poll_read(context, into),
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Local(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Remote(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Local(stream) => Pin::new(stream).poll_flush(context),
            Self::Remote(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Local(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Remote(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Local(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Self::Remote(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Local(stream) => stream.is_write_vectored(),
            Self::Remote(stream) => stream.is_write_vectored(),
        }
    }
}
