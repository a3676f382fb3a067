//! Messages by lines, over a pair of streams.
//!
//! Invariant: every request of a bounded length gets an answer, also one that cannot be decoded; and no more is read than there is room for. Lines that are nobody's are passed over: an answer to
//! them could be answered again.

use std::{io, sync::Arc};

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientJsonRpcMessage, ErrorCode, GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
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
    call,
    envelope::Envelope,
    limits::{LAST_ANSWERS, MESSAGE_BYTES, ROOM_TIME},
    room::Room,
};

/// A client at the other end of two streams.
pub(crate) struct Lines<R, W> {
    input: BufReader<R>,
    /// What was read of a line.
    line: Vec<u8>,
    /// Whether the line is longer than it may be, and the rest of it is passed over.
    is_too_long: bool,
    output: Arc<Mutex<W>>,
    room: Room,
    /// A request for which there was no room yet. Here, because whoever waits for messages may give up.
    waiting: Option<Waiting>,
    /// An answer that is being written before anything else is read.
    answering: Option<JoinHandle<io::Result<()>>>,
    /// Cancelled when the client has gone.
    gone: CancellationToken,
}

struct Waiting {
    message: ClientJsonRpcMessage,
    bytes: usize,
    until: Instant,
}

/// What a line comes to.
enum Read {
    Message(Box<ClientJsonRpcMessage>),
    Refused(Option<RequestId>, ErrorData),
    Nothing,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    pub(crate) fn new(input: R, output: W, room: Room, gone: CancellationToken) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            is_too_long: false,
            output: Arc::new(Mutex::new(output)),
            room,
            waiting: None,
            answering: None,
            gone,
        }
    }

    /// Reads a line without its end; `None` at the end of input. Whoever gives up loses nothing.
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
                tracing::error!("a line of more than {MESSAGE_BYTES} bytes is passed over");
            }
        }
    }

    fn answer(&mut self, id: Option<RequestId>, error: ErrorData) {
        self.answering = Some(tokio::spawn(self.send(JsonRpcMessage::error(error, id))));
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
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
                let held = timeout_at(waiting.until, self.room.hold(waiting.bytes)).await;
                let Some(JsonRpcMessage::Request(mut request)) = self.waiting.take().map(|waiting| waiting.message)
                else {
                    continue;
                };
                let Ok(held) = held else {
                    self.answer(Some(request.id), call::no_room());
                    continue;
                };
                request.request.extensions_mut().insert(held);
                return Some(JsonRpcMessage::Request(request));
            }
            let Some(line) = self.next_line().await else {
                let gone = self.gone.clone();
                tokio::spawn(async move {
                    sleep(LAST_ANSWERS).await;
                    gone.cancel();
                });
                return None;
            };
            match read(&line) {
                Read::Message(message) if matches!(*message, JsonRpcMessage::Request(_)) => {
                    let until = Instant::now() + ROOM_TIME;
                    self.waiting = Some(Waiting { message: *message, bytes: line.len(), until });
                }
                Read::Message(message) => return Some(*message),
                Read::Refused(id, error) => self.answer(id, error),
                Read::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.shutdown().await
    }
}

fn read(line: &[u8]) -> Read {
    // The mark of an encoding, which some programs write first.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Read::Message(Box::new(message)),
        Err(error) => error,
    };
    tracing::debug!(%error, "a line cannot be decoded");
    let envelope = Envelope::of(line);
    let is_json = !matches!(error.classify(), Category::Syntax | Category::Eof);
    let (code, sentence) = match is_json {
        true => (ErrorCode::INVALID_REQUEST, "this is no request"),
        false => (ErrorCode::PARSE_ERROR, "this cannot be decoded as JSON"),
    };
    let error = ErrorData::new(code, sentence, None);
    match (envelope.is_request(), envelope.has_method, envelope.id) {
        (true, _, id) => Read::Refused(id, error),
        // A notification; nobody waits for an answer.
        (false, true, _) => Read::Nothing,
        // An answer: whoever asked hears that it was none.
        (false, false, Some(id)) => Read::Message(Box::new(JsonRpcMessage::error(error, Some(id)))),
        (false, false, None) if is_json || envelope.has_id => Read::Refused(None, error),
        (false, false, None) => Read::Nothing,
    }
}
