//! `MessageStream`: a WebSocket as a byte stream. Binary messages carry the bytes; where a message ends has no meaning.
//!
//! Invariant: a message has at most [`limits::WEBSOCKET_BYTES`] in both directions, so that a peer that has not proven
//! itself costs no more memory than that.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use futures_util::{Sink, Stream};
use http::{Response, header};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::{
    WebSocketStream, accept_async_with_config, client_async_with_config,
    tungstenite::{
        Error as SocketError, Message,
        client::IntoClientRequest,
        handshake::{client::generate_key, server::create_response},
        protocol::{Role, WebSocketConfig},
    },
};

use crate::limits;

/// A WebSocket as a byte stream.
#[derive(Debug)]
pub struct MessageStream<S> {
    socket: WebSocketStream<S>,
    /// What is left of the last message.
    left: Bytes,
}

impl<S: AsyncRead + AsyncWrite + Unpin> MessageStream<S> {
    /// Opens a WebSocket as a client; `request` has its address and its headers.
    ///
    /// # Errors
    ///
    /// The answer of a server that does not open one, without its body, or the reason why there is none.
    pub async fn connect(request: http::Request<()>, stream: S) -> Result<Self, Result<Response<()>, io::Error>> {
        let request = request.into_client_request().map_err(|error| Err(broken(error)))?;
        match client_async_with_config(request, stream, Some(config())).await {
            Ok((socket, _)) => Ok(Self { socket, left: Bytes::new() }),
            Err(SocketError::Http(answer)) => Err(Ok(answer.map(|_| ()))),
            Err(error) => Err(Err(broken(error))),
        }
    }

    /// Continues as a server on a stream whose WebSocket was agreed on by [`websocket_answer`].
    pub async fn agreed(stream: S) -> Self {
        let socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config())).await;
        Self { socket, left: Bytes::new() }
    }

    /// Accepts a WebSocket as a server.
    ///
    /// # Errors
    ///
    /// When the other side does not ask for one, or the stream breaks.
    pub async fn accept(stream: S) -> io::Result<Self> {
        let socket = accept_async_with_config(stream, Some(config())).await.map_err(broken)?;
        Ok(Self { socket, left: Bytes::new() })
    }
}

/// Returns the request of a client for a WebSocket at an address.
///
/// # Errors
///
/// When the address is not that of a host.
pub fn websocket_request(address: &http::Uri) -> io::Result<http::Request<()>> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    let host = address.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    http::Request::builder()
        .uri(address)
        .header(header::HOST, host)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, generate_key())
        .body(())
        .map_err(invalid)
}

/// Returns the answer of a server of HTTP to a request for a WebSocket, or `None` if the request does not ask for one.
/// After the answer, the stream of the request is that of the socket: [`MessageStream::agreed`].
#[must_use]
pub fn websocket_answer(request: &http::Request<()>) -> Option<Response<()>> {
    create_response(request).ok()
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(limits::WEBSOCKET_BYTES)
        // A message is sent at once: each call waits for its answer.
        .write_buffer_size(0)
        .max_write_buffer_size(4 * limits::WEBSOCKET_BYTES)
        .max_message_size(Some(limits::WEBSOCKET_BYTES))
        .max_frame_size(Some(limits::WEBSOCKET_BYTES))
}

fn broken(error: SocketError) -> io::Error {
    match error {
        SocketError::Io(error) => error,
        SocketError::ConnectionClosed | SocketError::AlreadyClosed => io::ErrorKind::BrokenPipe.into(),
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for MessageStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.left.is_empty() {
            match ready!(Pin::new(&mut self.socket).poll_next(context)) {
                Some(Ok(Message::Binary(bytes))) => self.left = bytes,
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                None
                | Some(Ok(Message::Close(_)) | Err(SocketError::ConnectionClosed | SocketError::AlreadyClosed)) => {
                    return Poll::Ready(Ok(()));
                }
                Some(Ok(Message::Text(_))) => {
                    let error = io::Error::new(io::ErrorKind::InvalidData, "text on a WebSocket for bytes");
                    return Poll::Ready(Err(error));
                }
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
            }
        }
        let length = self.left.len().min(into.remaining());
        into.put_slice(&self.left[..length]);
        self.left.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for MessageStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(Pin::new(&mut self.socket).poll_ready(context)).map_err(broken)?;
        let piece = &bytes[..bytes.len().min(limits::WEBSOCKET_BYTES)];
        let message = Message::Binary(Bytes::copy_from_slice(piece));
        Pin::new(&mut self.socket).start_send(message).map_err(broken)?;
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context).map_err(broken)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.socket).poll_close(context)) {
            Ok(()) | Err(SocketError::ConnectionClosed | SocketError::AlreadyClosed) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(broken(error))),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::SinkExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    fn request() -> http::Request<()> {
        "ws://keeper/".into_client_request().unwrap()
    }

    async fn pair() -> (MessageStream<DuplexStream>, MessageStream<DuplexStream>) {
        let (near, far) = duplex(4096);
        let (near, far) = tokio::join!(MessageStream::connect(request(), near), MessageStream::accept(far));
        (near.map_err(|_| "refused").unwrap(), far.unwrap())
    }

    #[tokio::test]
    async fn bytes_come_through_in_both_directions_up_to_the_end() {
        let (mut near, mut far) = pair().await;
        let long: Vec<u8> = (0..1_000_000).map(|at| (at % 251) as u8).collect();
        let send = async {
            near.write_all(&long).await.unwrap();
            near.shutdown().await.unwrap();
        };
        let receive = async {
            let mut received = Vec::new();
            far.read_to_end(&mut received).await.unwrap();
            received
        };
        let ((), received) = tokio::join!(send, receive);
        assert!(received == long);
    }

    #[tokio::test]
    async fn a_server_of_http_agrees_with_a_client_and_hands_the_stream_over() {
        let request = websocket_request(&"ws://service:80/wire".parse().unwrap()).unwrap();
        assert_eq!(request.headers()[header::HOST], "service:80");
        let answer = websocket_answer(&request).unwrap();
        assert!(answer.status() == 101 && answer.headers().contains_key(header::SEC_WEBSOCKET_ACCEPT));
        assert!(websocket_answer(&http::Request::new(())).is_none());
        assert!(
            websocket_request(&"/wire".parse().unwrap())
                .is_ok_and(|request| request.headers()[header::HOST].is_empty())
        );
        // The same bytes on both sides as with the handshake.
        let (near, far) = duplex(4096);
        let near = WebSocketStream::from_raw_socket(near, Role::Client, Some(config())).await;
        let mut near = MessageStream { socket: near, left: Bytes::new() };
        let mut far = MessageStream::agreed(far).await;
        near.write_all(b"hello").await.unwrap();
        near.flush().await.unwrap();
        let mut heard = [0; 5];
        far.read_exact(&mut heard).await.unwrap();
        assert_eq!(&heard, b"hello");
    }

    #[tokio::test]
    async fn a_message_that_is_too_large_or_is_text_ends_the_connection() {
        for message in [Message::binary(vec![0; limits::WEBSOCKET_BYTES + 1]), Message::text("hello")] {
            let (near, far) = duplex(1 << 20);
            let raw = async { tokio_tungstenite::client_async(request(), near).await.unwrap().0 };
            let (mut raw, far) = tokio::join!(raw, MessageStream::accept(far));
            raw.send(message).await.unwrap();
            let error = far.unwrap().read_u8().await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }

    #[tokio::test]
    async fn a_server_that_refuses_is_quoted_and_a_client_that_asks_for_nothing_is_refused() {
        let (near, mut far) = duplex(4096);
        let refuse = async {
            let _ = far.read(&mut [0; 4096]).await.unwrap();
            far.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            far
        };
        let (refused, _far) = tokio::join!(MessageStream::connect(request(), near), refuse);
        assert_eq!(refused.unwrap_err().unwrap().status(), 502);
        let (mut near, far) = duplex(4096);
        near.write_all(b"GET / HTTP/1.1\r\nhost: keeper\r\n\r\n").await.unwrap();
        assert!(MessageStream::accept(far).await.is_err());
    }
}
