//! `ConnectionLimits`: how much of a request is read, and for how long a client is waited for.

use std::time::Duration;

use serde::Deserialize;
use workden::{Error, ErrorKind, Result};

/// The least that hyper can read headers with.
const LEAST_HEADER_BYTES: usize = 8192;

/// How much a client may send, and how slow it may be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// Connections at a time; further ones wait until one ends.
    pub connections: usize,
    /// Header fields of a request.
    pub headers: usize,
    /// Bytes of all header fields of a request together.
    pub header_bytes: usize,
    /// How long the headers of a request may take. A connection without a request is closed after this time.
    pub header_seconds: u64,
    /// How long nothing of the body of a request may arrive.
    pub body_seconds: u64,
    /// How long a client may read nothing of an answer, a stream or a websocket that waits for it.
    pub unread_seconds: u64,
    /// How long a call may take until its answer starts.
    pub answer_seconds: u64,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 10_000,
            headers: 100,
            header_bytes: 64 << 10,
            header_seconds: 60,
            body_seconds: 30,
            unread_seconds: 60,
            answer_seconds: 7200,
        }
    }
}

impl ConnectionLimits {
    /// Checks that something can be served with them.
    pub(crate) fn check(&self) -> Result<()> {
        let invalid = |what: &str, hint: String| {
            Err(Error::new(ErrorKind::InvalidArgument, format!("invalid `limits.{what}`")).hint(hint))
        };
        if self.header_bytes < LEAST_HEADER_BYTES {
            return invalid("header_bytes", format!("use at least {LEAST_HEADER_BYTES}"));
        }
        let counts = [("connections", self.connections), ("headers", self.headers)];
        let times = [
            ("header_seconds", self.header_seconds),
            ("body_seconds", self.body_seconds),
            ("unread_seconds", self.unread_seconds),
            ("answer_seconds", self.answer_seconds),
        ];
        let none = counts.iter().find(|(_, most)| *most == 0).map(|(name, _)| name);
        match none.or(times.iter().find(|(_, seconds)| *seconds == 0).map(|(name, _)| name)) {
            Some(name) => invalid(name, "use a number above 0".to_owned()),
            None => Ok(()),
        }
    }

    pub(crate) fn header(&self) -> Duration {
        Duration::from_secs(self.header_seconds)
    }

    pub(crate) fn body(&self) -> Duration {
        Duration::from_secs(self.body_seconds)
    }

    pub(crate) fn unread(&self) -> Duration {
        Duration::from_secs(self.unread_seconds)
    }

    pub(crate) fn answer(&self) -> Duration {
        Duration::from_secs(self.answer_seconds)
    }
}
