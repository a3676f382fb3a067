//! The Connect protocol with its JSON codec: plain calls, and streams of frames (a byte of flags, four of length).

use std::time::Duration;

use axum::{
    Json,
    body::{Body, BodyDataStream},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use bytes::{Buf, BufMut, Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use workden::{Error, ErrorKind};

use super::failure::SHOULD_RETRY;
use crate::api_error::ApiError;

/// The largest frame that is read.
const FRAME_BYTES: usize = 8 << 20;
/// How often a quiet stream says that it is alive, in seconds.
const KEEPALIVE: u64 = 90;
/// The flags and the length of a frame.
const HEAD_BYTES: usize = 5;
/// The flag of the last frame.
const END: u8 = 2;
/// The type of a stream's content.
const STREAM: &str = "application/connect+json";

/// Why a call failed, with one of Connect's codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RpcError {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl RpcError {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("invalid_argument", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new("not_found", message)
    }

    pub(super) fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new("unauthenticated", message)
    }

    /// Returns the failure of a method that this service does not have.
    pub(super) fn unimplemented(method: &str) -> Self {
        Self::new("unimplemented", format!("`{}` is not supported by this service", method.escape_debug()))
    }

    fn body(&self) -> Value {
        json!({ "code": self.code, "message": self.message })
    }

    fn status(&self) -> StatusCode {
        match self.code {
            "unauthenticated" => StatusCode::UNAUTHORIZED,
            "permission_denied" => StatusCode::FORBIDDEN,
            "not_found" => StatusCode::NOT_FOUND,
            "already_exists" => StatusCode::CONFLICT,
            "resource_exhausted" => StatusCode::TOO_MANY_REQUESTS,
            "unimplemented" => StatusCode::NOT_IMPLEMENTED,
            "unavailable" => StatusCode::SERVICE_UNAVAILABLE,
            "deadline_exceeded" => StatusCode::GATEWAY_TIMEOUT,
            "internal" => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        }
    }
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::NotFound => "not_found",
            ErrorKind::AlreadyExists => "already_exists",
            ErrorKind::NotEmpty | ErrorKind::Conflict | ErrorKind::Moved => "failed_precondition",
            ErrorKind::Denied | ErrorKind::ApprovalNeeded | ErrorKind::PermissionDenied | ErrorKind::ReadOnly => {
                "permission_denied"
            }
            ErrorKind::TooLarge | ErrorKind::NoSpace | ErrorKind::Busy => "resource_exhausted",
            ErrorKind::TimedOut => "deadline_exceeded",
            ErrorKind::Gone | ErrorKind::Unreachable => "unavailable",
            ErrorKind::Unsupported | ErrorKind::LimitNotHeld => "unimplemented",
            ErrorKind::Io => "internal",
            _ => "invalid_argument",
        };
        Self::new(code, error.to_string())
    }
}

impl From<ApiError> for RpcError {
    fn from(error: ApiError) -> Self {
        error.error.into()
    }
}

impl IntoResponse for RpcError {
    fn into_response(self) -> Response {
        // Clients repeat some statuses by themselves, and a call may have been carried out.
        (self.status(), [(SHOULD_RETRY, "false")], Json(self.body())).into_response()
    }
}

/// Whether the content of a call has the type of plain calls, or of streams.
pub(super) fn is_of_type(headers: &HeaderMap, wanted: ContentKind) -> bool {
    let found = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let found = found.split(';').next().unwrap_or_default().trim();
    match wanted {
        ContentKind::Plain => found.eq_ignore_ascii_case("application/json"),
        ContentKind::Stream => found.eq_ignore_ascii_case(STREAM),
    }
}

/// How the content of a call is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum ContentKind {
    Plain,
    Stream,
}

/// Parses the content of a plain call; nothing is `{}`.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, RpcError> {
    let text: &[u8] = if bytes.is_empty() { b"{}" } else { bytes };
    serde_json::from_slice(text).map_err(|error| RpcError::invalid(format!("invalid request: {error}")))
}

/// Returns how long a client waits for the whole answer.
pub(super) fn time_limit(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("connect-timeout-ms")?.to_str().ok()?;
    text.parse().ok().filter(|millis| *millis > 0).map(Duration::from_millis)
}

/// Returns how often a quiet stream says that it is alive.
pub(super) fn keepalive(headers: &HeaderMap) -> Duration {
    let asked = headers.get("keepalive-ping-interval").and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(asked.unwrap_or(KEEPALIVE).clamp(1, 3600))
}

/// The frames that a client sends.
pub(super) struct RpcFrames {
    body: BodyDataStream,
    buffer: BytesMut,
}

impl RpcFrames {
    pub(super) fn new(body: Body) -> Self {
        Self { body: body.into_data_stream(), buffer: BytesMut::new() }
    }

    /// Returns the only message, once the client has sent all.
    pub(super) async fn only<T: DeserializeOwned>(mut self) -> Result<T, RpcError> {
        let message = self.next().await?.ok_or_else(|| RpcError::invalid("missing message"))?;
        match self.next::<Value>().await? {
            None => Ok(message),
            Some(_) => Err(RpcError::invalid("invalid request: more than one message")),
        }
    }

    /// Returns the next message; `None` at the end. A frame is refused by its length, before it is read.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, RpcError> {
        loop {
            if let Some([flags, length @ ..]) = self.buffer.first_chunk::<HEAD_BYTES>() {
                let (flags, length) = (*flags, u32::from_be_bytes(*length) as usize);
                match flags {
                    0 => {}
                    END => return Ok(None),
                    _ => return Err(RpcError::invalid("invalid frame: compression is not supported")),
                }
                if length > FRAME_BYTES {
                    let message = format!("invalid frame: {length} bytes; the limit is {FRAME_BYTES}");
                    return Err(RpcError::new("resource_exhausted", message));
                }
                if self.buffer.len() >= HEAD_BYTES + length {
                    self.buffer.advance(HEAD_BYTES);
                    return parse(&self.buffer.split_to(length)).map(Some);
                }
            }
            match self.body.next().await {
                Some(Ok(bytes)) => self.buffer.extend_from_slice(&bytes),
                Some(Err(_)) => return Err(RpcError::invalid("the request ended before its end")),
                None if self.buffer.is_empty() => return Ok(None),
                None => return Err(RpcError::invalid("invalid frame: shorter than its length")),
            }
        }
    }
}

/// Returns a frame with a message.
pub(super) fn message(value: &Value) -> Bytes {
    frame(0, value)
}

/// Returns the last frame of a stream.
pub(super) fn end(outcome: Result<(), &RpcError>) -> Bytes {
    frame(END, &outcome.map_or_else(|error| json!({ "error": error.body() }), |()| json!({})))
}

fn frame(flags: u8, value: &Value) -> Bytes {
    let text = value.to_string();
    let mut frame = BytesMut::with_capacity(HEAD_BYTES + text.len());
    frame.put_u8(flags);
    frame.put_u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
    frame.put_slice(text.as_bytes());
    frame.freeze()
}

/// Returns the answer of frames. An error in the stream cuts the connection.
pub(super) fn streamed(frames: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static) -> Response {
    ([(CONTENT_TYPE, STREAM)], Body::from_stream(frames)).into_response()
}

/// Returns the answer to a stream that fails before its first message.
pub(super) fn failed_stream(error: &RpcError) -> Response {
    ([(CONTENT_TYPE, STREAM)], end(Err(error))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(pieces: &[&[u8]]) -> Result<Vec<Value>, RpcError> {
        let pieces: Vec<_> = pieces.iter().map(|piece| std::io::Result::Ok(Bytes::copy_from_slice(piece))).collect();
        let mut frames = RpcFrames::new(Body::from_stream(futures_util::stream::iter(pieces)));
        let mut messages = Vec::new();
        while let Some(message) = frames.next().await? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[tokio::test]
    async fn frames_are_read_however_they_are_cut() {
        let both = [message(&json!({"a": 1})), message(&json!([]))].concat();
        let expected = Ok(vec![json!({"a": 1}), json!([])]);
        assert_eq!(read(&[&both]).await, expected);
        let bytes: Vec<&[u8]> = both.chunks(1).collect();
        assert_eq!(read(&bytes).await, expected);
        assert_eq!(read(&[]).await, Ok(vec![]));
        assert_eq!(read(&[&end(Ok(()))]).await, Ok(vec![]));
    }

    #[tokio::test]
    async fn a_bad_frame_is_refused_before_it_is_read() {
        for (bytes, code) in [
            (&[0, 255, 255, 255, 255][..], "resource_exhausted"),
            (&[1, 0, 0, 0, 0], "invalid_argument"),
            (&[0, 0, 0, 0, 9, b'{'], "invalid_argument"),
            (&[0, 0], "invalid_argument"),
            (&[0, 0, 0, 0, 1, b'{'], "invalid_argument"),
        ] {
            assert_eq!(read(&[bytes]).await.unwrap_err().code, code, "{bytes:?}");
        }
    }
}
