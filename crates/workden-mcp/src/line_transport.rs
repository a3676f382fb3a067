//! Messages as lines over a pair of streams.
//!
//! Invariant: every request of a bounded length is answered, also one that cannot be decoded, and no more is read than
//! the quota allows. A line that is neither a request nor an answer is skipped: an error sent for it could be answered
//! in turn.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientJsonRpcMessage, ClientRequest, ErrorCode, GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    },
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::error::Category;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex,
    task::JoinHandle,
    time::{Instant, sleep, timeout_at},
};
use tokio_util::sync::CancellationToken;

use crate::{
    client_call,
    limits::{HOLD_TIMEOUT, MESSAGE_BYTES},
    message_header::MessageHeader,
    quota::Quota,
};

/// The transport to a client at the other end of two streams.
pub(crate) struct LineTransport<R, W> {
    input: BufReader<R>,
    /// The part of a line that was read.
    line: Vec<u8>,
    /// Whether the line exceeds its limit, and the rest of it is skipped.
    is_too_long: bool,
    output: Arc<Mutex<W>>,
    quota: Quota,
    /// A request that waits for its bytes to be held. Stored here, because a wait for messages can be dropped.
    waiting: Option<WaitingRequest>,
    /// An answer that is written before anything else is read.
    answering: Option<JoinHandle<io::Result<()>>>,
    /// Whether a request has come that starts a session: messages before it would end the server.
    is_started: bool,
    /// Whether a line was no message of the protocol at all.
    met_garbage: Arc<AtomicBool>,
    /// Cancelled after the client has closed its end.
    gone: CancellationToken,
    /// How long calls may run on after that.
    drain_time: Duration,
}

struct WaitingRequest {
    message: ClientJsonRpcMessage,
    bytes: usize,
    until: Instant,
}

/// A line, decoded.
enum Decoded {
    Message(Box<ClientJsonRpcMessage>),
    Refused(Option<RequestId>, ErrorData),
    Skipped,
    /// The line is no message of the protocol at all.
    Garbage,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> LineTransport<R, W> {
    pub(crate) fn new(input: R, output: W, quota: Quota, gone: CancellationToken, drain_time: Duration) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            is_too_long: false,
            output: Arc::new(Mutex::new(output)),
            quota,
            waiting: None,
            answering: None,
            is_started: false,
            met_garbage: Arc::default(),
            gone,
            drain_time,
        }
    }

    /// Whether a line was no message of the protocol at all, as long as the transport lives and after it.
    pub(crate) fn met_garbage(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.met_garbage)
    }

    /// Reads a line without its end; `None` at the end of input. A dropped read loses nothing.
    async fn next_line(&mut self) -> Option<Vec<u8>> {
        loop {
            let read = self.input.fill_buf().await.inspect_err(|error| tracing::error!(%error, "cannot read")).ok()?;
            if read.is_empty() {
                return None;
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            if self.line.len() + part.len() > MESSAGE_BYTES {
                self.is_too_long = true;
                self.line = Vec::new();
            } else if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                if !std::mem::take(&mut self.is_too_long) {
                    return Some(line);
                }
                tracing::error!("skipped a line of more than {MESSAGE_BYTES} bytes");
            }
        }
    }

    fn answer(&mut self, id: Option<RequestId>, error: ErrorData) {
        self.answering = Some(tokio::spawn(self.send(JsonRpcMessage::error(error, id))));
    }

    /// Whether a message is for the session: every request, and everything once a session has started.
    fn is_accepted(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let JsonRpcMessage::Request(request) = message {
            // A ping and a discovery do not start a session.
            self.is_started |=
                !matches!(request.request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
            return true;
        }
        if !self.is_started {
            tracing::debug!("skipped a message before the first request");
        }
        self.is_started
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = serde_json::to_vec::<ServerJsonRpcMessage>(&item)?;
            line.push(b'\n');
            let mut output = output.lock().await;
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answering) = &mut self.answering {
                let answered = answering.await;
                self.answering = None;
                if !matches!(answered, Ok(Ok(()))) {
                    tracing::error!(?answered, "cannot write an answer");
                }
            }
            if let Some(waiting) = &self.waiting {
                let held = timeout_at(waiting.until, self.quota.hold(waiting.bytes)).await;
                let Some(JsonRpcMessage::Request(mut request)) = self.waiting.take().map(|waiting| waiting.message)
                else {
                    continue;
                };
                let Ok(held) = held else {
                    self.answer(Some(request.id), client_call::at_capacity());
                    continue;
                };
                request.request.extensions_mut().insert(held);
                return Some(JsonRpcMessage::Request(request));
            }
            let Some(line) = self.next_line().await else {
                if matches!(decode(&self.line), Decoded::Garbage) {
                    self.met_garbage.store(true, Ordering::Relaxed);
                }
                let (gone, drain_time) = (self.gone.clone(), self.drain_time);
                tokio::spawn(async move {
                    sleep(drain_time).await;
                    gone.cancel();
                });
                return None;
            };
            match decode(&line) {
                Decoded::Message(message) if !self.is_accepted(&message) => {}
                Decoded::Message(message) if matches!(*message, JsonRpcMessage::Request(_)) => {
                    let until = Instant::now() + HOLD_TIMEOUT;
                    self.waiting = Some(WaitingRequest { message: *message, bytes: line.len(), until });
                }
                Decoded::Message(message) => return Some(*message),
                Decoded::Refused(id, error) => self.answer(id, error),
                Decoded::Skipped => {}
                Decoded::Garbage => self.met_garbage.store(true, Ordering::Relaxed),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

fn decode(line: &[u8]) -> Decoded {
    // Some programs write a byte order mark first.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Decoded::Skipped;
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Decoded::Message(Box::new(message)),
        Err(error) => error,
    };
    tracing::debug!(%error, "cannot decode a line");
    let header = MessageHeader::of(line);
    let is_json = !matches!(error.classify(), Category::Syntax | Category::Eof);
    let (code, text) = match is_json {
        true => (ErrorCode::INVALID_REQUEST, "not a valid request"),
        false => (ErrorCode::PARSE_ERROR, "not valid JSON"),
    };
    let error = ErrorData::new(code, text, None);
    match (header.is_request(), header.has_method, header.id) {
        (true, _, id) => Decoded::Refused(id, error),
        // A notification, to which no answer is expected.
        (false, true, _) => Decoded::Skipped,
        // An answer: the call that asked gets an error for it.
        (false, false, Some(id)) => Decoded::Message(Box::new(JsonRpcMessage::error(error, Some(id)))),
        (false, false, None) if is_json || header.has_id => Decoded::Refused(None, error),
        (false, false, None) => Decoded::Garbage,
    }
}
