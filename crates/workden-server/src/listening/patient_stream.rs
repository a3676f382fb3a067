//! `PatientStream`: a connection that gives up a client that sends nothing at first, or does not read what it gets.
//!
//! The server of HTTP limits the time of headers only after it has seen which version a client speaks. And a client that
//! does not read holds an answer, a stream of events or a websocket in memory, whatever route it came from; so both are
//! limited here, under all of them.

use std::{
    io::{Error, ErrorKind, IoSlice, Result},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

use super::ConnectionLimits;

/// Bytes by which the version of HTTP is known: those that open a connection of HTTP/2.
const OPENING: usize = 24;

/// A connection with deadlines.
pub(super) struct PatientStream<S> {
    inner: S,
    received: usize,
    /// When the first bytes must be there; `None` once they are.
    opening: Option<Pin<Box<Sleep>>>,
    unread: Duration,
    /// When the client must have read something, while bytes wait for it.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> PatientStream<S> {
    pub(super) fn new(inner: S, limits: &ConnectionLimits) -> Self {
        let opening = Some(Box::pin(sleep(limits.header())));
        Self { inner, received: 0, opening, unread: limits.unread(), waiting: None }
    }

    /// Passes on what a write did, and gives it up when the client has read nothing for too long.
    fn written<T>(&mut self, context: &mut Context<'_>, done: Poll<Result<T>>) -> Poll<Result<T>> {
        if done.is_ready() {
            self.waiting = None;
            return done;
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(self.unread)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client does not read")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for PatientStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.inner).poll_read(context, buffer);
        let Some(opening) = &mut self.opening else { return done };
        if done.is_pending() {
            ready!(opening.as_mut().poll(context));
            return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the client sends nothing")));
        }
        self.received += buffer.filled().len() - before;
        if self.received >= OPENING {
            self.opening = None;
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for PatientStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.written(context, done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let done = Pin::new(&mut self.inner).poll_write_vectored(context, pieces);
        self.written(context, done)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let done = Pin::new(&mut self.inner).poll_flush(context);
        self.written(context, done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let done = Pin::new(&mut self.inner).poll_shutdown(context);
        self.written(context, done)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    fn limits() -> ConnectionLimits {
        ConnectionLimits { header_seconds: 5, unread_seconds: 7, ..ConnectionLimits::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_nothing_is_given_up_and_a_quiet_one_is_not() {
        let (_client, end) = duplex(64);
        let mut silent = PatientStream::new(end, &limits());
        assert_eq!(silent.read(&mut [0; 64]).await.unwrap_err().kind(), ErrorKind::TimedOut);
        let (mut client, end) = duplex(64);
        let mut quiet = PatientStream::new(end, &limits());
        client.write_all(&[1; OPENING]).await.unwrap();
        assert_eq!(quiet.read(&mut [0; 64]).await.unwrap(), OPENING);
        let later = tokio::time::timeout(Duration::from_secs(1000), quiet.read(&mut [0; 64])).await;
        assert!(later.is_err(), "a long call is waited for: {later:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_given_up_and_a_slow_one_is_not() {
        let (mut client, end) = duplex(4);
        let mut stream = PatientStream::new(end, &limits());
        let slow = async {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_secs(6)).await;
                client.read_exact(&mut [0; 4]).await.unwrap();
            }
        };
        let (sent, ()) = tokio::join!(stream.write_all(&[1; 80]), slow);
        sent.unwrap();
        assert_eq!(stream.write_all(&[1; 80]).await.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
