//! Admission of messages and sessions over HTTP: how much of both the clients of a server can make it hold.

use std::{
    collections::HashMap,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use axum::{
    body::{Body, HttpBody, to_bytes},
    extract::{Request, State},
    http::{
        Method, StatusCode,
        header::{CONTENT_LENGTH, RETRY_AFTER},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use rmcp::transport::streamable_http_server::session::{SessionId, SessionManager, local::LocalSessionManager};

use crate::{
    limits::{BODY_TIMEOUT, HOLD_TIMEOUT, INITIALIZE_BYTES, MESSAGE_BYTES, SMALL_MESSAGE_BYTES},
    message_header::MessageHeader,
    quota::Quota,
};

const SESSION_HEADER: &str = "mcp-session-id";

/// The admission to one server.
#[derive(Debug)]
pub(super) struct Admission {
    quota: Quota,
    sessions: Arc<LocalSessionManager>,
    max_sessions: usize,
    usage: Mutex<HashMap<SessionId, SessionUsage>>,
}

/// The use of a session, ordered by which session ends first: one without a request, then the one whose last
/// request is oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SessionUsage {
    was_used: bool,
    last: Instant,
}

/// Admits a message within the quota, and counts sessions.
pub(super) async fn admit(State(admission): State<Arc<Admission>>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let session = request.headers().get(SESSION_HEADER).and_then(|id| id.to_str().ok()).map(SessionId::from);
    let (request, header) = match admission.receive(request).await {
        Ok(received) => received,
        Err(refused) => return refused,
    };
    match session {
        Some(session) => {
            if header.is_request() {
                admission.record_use(&session);
            }
            next.run(request).await
        }
        None => {
            let response = next.run(request).await;
            if let Some(id) = response.headers().get(SESSION_HEADER).and_then(|id| id.to_str().ok()) {
                admission.add_session(SessionId::from(id)).await;
            }
            response
        }
    }
}

impl Admission {
    pub(super) fn new(quota: Quota, sessions: Arc<LocalSessionManager>, max_sessions: usize) -> Self {
        Self { quota, sessions, max_sessions, usage: Mutex::default() }
    }

    /// Reads the body of a request.
    async fn receive(&self, request: Request) -> Result<(Request, MessageHeader), Response> {
        let (mut parts, body) = request.into_parts();
        let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let bytes = length.unwrap_or(MESSAGE_BYTES).min(MESSAGE_BYTES);
        // The answer to a question, which frees bytes, is small and always read.
        if bytes > SMALL_MESSAGE_BYTES {
            let Some(incoming) = self.quota.try_receive(bytes) else {
                drain(body).await;
                let text = "server at capacity; retry when other calls are answered\n";
                return Err((StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")], text).into_response());
            };
            parts.extensions.insert(incoming);
        }
        let body = match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MESSAGE_BYTES)).await {
            Ok(Ok(body)) => body,
            Ok(Err(_)) => return Err(too_large(MESSAGE_BYTES)),
            Err(_) => {
                let text = format!("the body timed out after {} s\n", BODY_TIMEOUT.as_secs());
                return Err((StatusCode::REQUEST_TIMEOUT, text).into_response());
            }
        };
        let header = MessageHeader::of(&body);
        if header.is_initialize && body.len() > INITIALIZE_BYTES {
            return Err(too_large(INITIALIZE_BYTES));
        }
        Ok((Request::from_parts(parts, Body::from(body)), header))
    }

    fn record_use(&self, session: &SessionId) {
        // A client can send any id; only sessions that exist are recorded.
        if let Some(usage) = self.usage().get_mut(session) {
            *usage = SessionUsage { was_used: true, last: Instant::now() };
        }
    }

    /// Counts a new session, and ends another one when there are too many.
    async fn add_session(&self, session: SessionId) {
        let sessions = self.sessions.sessions.read().await;
        let evicted = {
            let mut usage = self.usage();
            usage.retain(|id, _| sessions.contains_key(id));
            let first = usage.iter().min_by_key(|(_, usage)| **usage).map(|(id, _)| id.clone());
            let evicted = first.filter(|_| usage.len() >= self.max_sessions);
            if let Some(evicted) = &evicted {
                usage.remove(evicted);
            }
            usage.insert(session, SessionUsage { was_used: false, last: Instant::now() });
            evicted
        };
        drop(sessions);
        if let Some(evicted) = evicted {
            tracing::warn!(limit = self.max_sessions, "ended a session: too many sessions");
            let sessions = Arc::clone(&self.sessions);
            // The new session does not wait for the end of the other one.
            tokio::spawn(async move { drop(sessions.close_session(&evicted).await) });
        }
    }

    fn usage(&self) -> MutexGuard<'_, HashMap<SessionId, SessionUsage>> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads and drops a body. A client that is still sending when the connection closes may not see the response.
async fn drain(mut body: Body) {
    let read = async {
        let mut left = MESSAGE_BYTES;
        while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            left = match left.checked_sub(frame.data_ref().map_or(0, |data| data.len())) {
                Some(left) => left,
                None => return,
            };
        }
    };
    let _ = tokio::time::timeout(HOLD_TIMEOUT, read).await;
}

fn too_large(most: usize) -> Response {
    (StatusCode::PAYLOAD_TOO_LARGE, format!("message too large (max {most} bytes)\n")).into_response()
}
