//! `ChannelStream`: a byte stream to a pod over a WebSocket of the API server, on which the first byte of a message names
//! its channel.
//!
//! Invariant: the output ends when the connection does, or when the cluster says how the program ended. kube's own
//! streams do not end when the connection is lost, and cut the input into messages of 4 KiB.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{Sink, Stream};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use kube::Client;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error as SocketError, Message},
};

use super::errors;

/// The most bytes of a message to the pod.
const MESSAGE_BYTES: usize = 128 * 1024;
/// How long the last of a complaint may take to arrive.
const COMPLAINT_TIME: Duration = Duration::from_secs(1);
/// Bytes of a complaint that are kept.
const COMPLAINT_BYTES: usize = 4096;

/// What the channels of a WebSocket are for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channels {
    pub(super) input: u8,
    pub(super) output: u8,
    /// Text about what goes wrong.
    pub(super) complaint: u8,
    /// How the program ended, as a status of the cluster.
    pub(super) status: Option<u8>,
    /// Bytes before those of the output and of the complaint: the number of the port.
    pub(super) heading: usize,
}

/// A byte stream to a pod. The input ends when this is dropped.
pub(super) struct ChannelStream<S = TokioIo<Upgraded>> {
    socket: WebSocketStream<S>,
    channels: Channels,
    /// What is left of the last message.
    output: Bytes,
    /// What is left of the headings of the output and of the complaint.
    headings: [usize; 2],
    complaint: Vec<u8>,
    /// The end, with the message of the cluster, if it gives one.
    ended: Option<String>,
}

/// Opens a stream.
pub(super) async fn open(
    client: &Client,
    request: http::Request<Vec<u8>>,
    channels: Channels,
) -> kube::Result<ChannelStream> {
    Ok(ChannelStream::new(client.connect(request).await?.into_stream(), channels))
}

impl<S: AsyncRead + AsyncWrite + Unpin> ChannelStream<S> {
    fn new(socket: WebSocketStream<S>, channels: Channels) -> Self {
        let headings = [channels.heading; 2];
        Self { socket, channels, output: Bytes::new(), headings, complaint: Vec::new(), ended: None }
    }

    /// Returns what the other side complains about, or how the program ended. One that has ended may have written more
    /// than has arrived; its output is dropped.
    pub(super) async fn complaint(&mut self) -> String {
        let _ = timeout(COMPLAINT_TIME, tokio::io::copy(self, &mut tokio::io::sink())).await;
        match &*self.complaint {
            [] => errors::shown(self.ended.as_deref().unwrap_or_default()),
            said => errors::shown(&String::from_utf8_lossy(said)),
        }
    }

    fn receive(&mut self, mut message: Bytes) {
        if message.is_empty() {
            return;
        }
        let channel = message.get_u8();
        if channel == self.channels.output {
            self.output = after_heading(message, &mut self.headings[0]);
        } else if channel == self.channels.complaint {
            let said = after_heading(message, &mut self.headings[1]);
            let room = COMPLAINT_BYTES.saturating_sub(self.complaint.len()).min(said.len());
            self.complaint.extend_from_slice(&said[..room]);
        } else if Some(channel) == self.channels.status && !message.is_empty() {
            let status = serde_json::from_slice::<Status>(&message);
            self.ended = Some(status.ok().and_then(|status| status.message).unwrap_or_default());
        }
    }

    fn poll_write_pieces(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(Pin::new(&mut self.socket).poll_ready(context)).map_err(broken)?;
        let length = pieces.iter().map(|piece| piece.len()).sum::<usize>().min(MESSAGE_BYTES);
        let mut message = BytesMut::with_capacity(length + 1);
        message.put_u8(self.channels.input);
        for piece in pieces {
            let room = (length + 1).saturating_sub(message.len()).min(piece.len());
            message.extend_from_slice(&piece[..room]);
        }
        Pin::new(&mut self.socket).start_send(Message::Binary(message.freeze())).map_err(broken)?;
        Poll::Ready(Ok(length))
    }
}

fn after_heading(mut message: Bytes, left: &mut usize) -> Bytes {
    let skipped = message.len().min(*left);
    *left -= skipped;
    message.advance(skipped);
    message
}

fn broken(error: SocketError) -> io::Error {
    match error {
        SocketError::Io(error) => error,
        SocketError::ConnectionClosed | SocketError::AlreadyClosed => io::ErrorKind::BrokenPipe.into(),
        error => io::Error::new(io::ErrorKind::InvalidData, error),
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for ChannelStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        while self.output.is_empty() && self.ended.is_none() {
            match ready!(Pin::new(&mut self.socket).poll_next(context)) {
                Some(Ok(Message::Binary(message))) => self.receive(message),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_) | Message::Text(_))) => {}
                None
                | Some(Ok(Message::Close(_)) | Err(SocketError::ConnectionClosed | SocketError::AlreadyClosed)) => {
                    self.ended = Some(String::new());
                }
                Some(Err(error)) => return Poll::Ready(Err(broken(error))),
            }
        }
        let length = self.output.len().min(into.remaining());
        into.put_slice(&self.output[..length]);
        self.output.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ChannelStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_pieces(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_pieces(context, pieces)
    }

    /// The records of TLS, of 16 KiB each, become one message.
    fn is_write_vectored(&self) -> bool {
        true
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
    use futures_util::{SinkExt, StreamExt};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio_tungstenite::tungstenite::protocol::Role;

    use super::*;

    const EXEC: Channels = Channels { input: 0, output: 1, complaint: 2, status: Some(3), heading: 0 };
    const PORT: Channels = Channels { input: 0, output: 0, complaint: 1, status: None, heading: 2 };

    async fn pair(channels: Channels) -> (ChannelStream<DuplexStream>, WebSocketStream<DuplexStream>) {
        let (near, far) = duplex(1 << 20);
        let socket = WebSocketStream::from_raw_socket(near, Role::Client, None).await;
        (ChannelStream::new(socket, channels), WebSocketStream::from_raw_socket(far, Role::Server, None).await)
    }

    fn message(channel: u8, bytes: &[u8]) -> Message {
        Message::binary([&[channel], bytes].concat())
    }

    #[tokio::test]
    async fn the_output_of_a_program_ends_with_its_status_and_its_complaint_is_kept() {
        let (mut ours, mut theirs) = pair(EXEC).await;
        for sent in [
            message(1, b""),
            message(1, b"one "),
            message(2, b"no such program"),
            message(1, b"two"),
            message(3, br#"{"status":"Failure","message":"exit code 127"}"#),
        ] {
            theirs.send(sent).await.unwrap();
        }
        let mut output = String::new();
        ours.read_to_string(&mut output).await.unwrap();
        assert_eq!(output, "one two");
        assert_eq!(ours.complaint().await, "no such program");
    }

    #[tokio::test]
    async fn a_program_that_says_nothing_is_told_by_its_status_and_a_lost_connection_is_an_end() {
        let (mut ours, mut theirs) = pair(EXEC).await;
        theirs.send(message(3, br#"{"message":"exit code 127"}"#)).await.unwrap();
        assert_eq!(ours.complaint().await, "exit code 127");
        let (mut ours, mut theirs) = pair(EXEC).await;
        theirs.close(None).await.unwrap();
        assert_eq!((ours.read(&mut [0; 9]).await.unwrap(), ours.complaint().await), (0, String::new()));
    }

    #[tokio::test]
    async fn the_number_of_a_port_is_not_output() {
        let (mut ours, mut theirs) = pair(PORT).await;
        for sent in [message(0, &[0x2f]), message(0, &[0x6a]), message(1, &[0x2f, 0x6a]), message(0, b"hi")] {
            theirs.send(sent).await.unwrap();
        }
        let mut output = [0; 2];
        ours.read_exact(&mut output).await.unwrap();
        assert_eq!(&output, b"hi");
    }

    #[tokio::test]
    async fn pieces_become_one_message_and_a_long_input_several() {
        let (mut ours, mut theirs) = pair(EXEC).await;
        let pieces = [io::IoSlice::new(b"ab"), io::IoSlice::new(b"c")];
        assert_eq!(ours.write_vectored(&pieces).await.unwrap(), 3);
        ours.flush().await.unwrap();
        assert_eq!(theirs.next().await.unwrap().unwrap(), message(0, b"abc"));
        let long = vec![b'x'; MESSAGE_BYTES + 1];
        let sending = async {
            ours.write_all(&long).await.unwrap();
            ours.flush().await.unwrap();
        };
        let receiving = async { [theirs.next().await, theirs.next().await].map(|next| next.unwrap().unwrap().len()) };
        let ((), lengths) = tokio::join!(sending, receiving);
        assert_eq!(lengths, [MESSAGE_BYTES + 1, 2]);
    }
}
