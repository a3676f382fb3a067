//! What the clients of a server over HTTP can make it hold: messages, and sessions.

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
    envelope::Envelope,
    limits::{BEGINNING_BYTES, BODY_TIME, MESSAGE_BYTES, ROOM_TIME, SMALL_BYTES},
    room::Room,
};

const SESSION: &str = "mcp-session-id";

/// The bounds of one server.
#[derive(Debug)]
pub(super) struct Bounds {
    pub(super) room: Room,
    pub(super) sessions: Arc<LocalSessionManager>,
    pub(super) most_sessions: usize,
    pub(super) lives: Mutex<HashMap<SessionId, Life>>,
}

/// What is known of a session. Ordered by who goes first: who never asked for anything, then whoever did so
/// longest ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Life {
    was_used: bool,
    last: Instant,
}

/// Takes a message in if there is room for it, and keeps account of sessions.
pub(super) async fn within(State(bounds): State<Arc<Bounds>>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let session = request.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(SessionId::from);
    let (request, envelope) = match bounds.taken_in(request).await {
        Ok(taken) => taken,
        Err(refused) => return refused,
    };
    match session {
        Some(session) => {
            if envelope.is_request() {
                bounds.used(&session);
            }
            next.run(request).await
        }
        None => {
            let response = next.run(request).await;
            if let Some(id) = response.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
                bounds.begun(SessionId::from(id)).await;
            }
            response
        }
    }
}

impl Bounds {
    /// The same request with a body that is here.
    async fn taken_in(&self, request: Request) -> Result<(Request, Envelope), Response> {
        let (mut parts, body) = request.into_parts();
        let length = parts.headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let bytes = length.unwrap_or(MESSAGE_BYTES).min(MESSAGE_BYTES);
        // An answer that makes room again is small.
        if bytes > SMALL_BYTES {
            let Some(room) = self.room.try_receive(bytes) else {
                pass_over(body).await;
                let sentence = "there is no room for this message; send it again when other calls are answered\n";
                return Err((StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")], sentence).into_response());
            };
            parts.extensions.insert(room);
        }
        let body = match tokio::time::timeout(BODY_TIME, to_bytes(body, MESSAGE_BYTES)).await {
            Ok(Ok(body)) => body,
            Ok(Err(_)) => return Err(too_large(MESSAGE_BYTES)),
            Err(_) => return Err((StatusCode::REQUEST_TIMEOUT, "the body took too long\n").into_response()),
        };
        let envelope = Envelope::of(&body);
        if envelope.begins && body.len() > BEGINNING_BYTES {
            return Err(too_large(BEGINNING_BYTES));
        }
        Ok((Request::from_parts(parts, Body::from(body)), envelope))
    }

    fn used(&self, session: &SessionId) {
        // Only of sessions that there are.
        if let Some(life) = self.lives().get_mut(session) {
            *life = Life { was_used: true, last: Instant::now() };
        }
    }

    /// Counts a session in; if there are too many then, another one goes.
    async fn begun(&self, session: SessionId) {
        let sessions = self.sessions.sessions.read().await;
        let goes = {
            let mut lives = self.lives();
            lives.retain(|id, _| sessions.contains_key(id));
            let first = lives.iter().min_by_key(|(_, life)| **life).map(|(id, _)| id.clone());
            let goes = first.filter(|_| lives.len() >= self.most_sessions);
            if let Some(goes) = &goes {
                lives.remove(goes);
            }
            lives.insert(session, Life { was_used: false, last: Instant::now() });
            goes
        };
        drop(sessions);
        if let Some(goes) = goes {
            tracing::warn!("a session was ended: there are too many");
            let sessions = Arc::clone(&self.sessions);
            // Whoever has just begun does not wait for it.
            tokio::spawn(async move { drop(sessions.close_session(&goes).await) });
        }
    }

    fn lives(&self) -> MutexGuard<'_, HashMap<SessionId, Life>> {
        self.lives.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads what is not kept, so that the client hears why: one that is still sending when the connection closes
/// may not.
async fn pass_over(mut body: Body) {
    let read = async {
        let mut left = MESSAGE_BYTES;
        while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            left = match left.checked_sub(frame.data_ref().map_or(0, |data| data.len())) {
                Some(left) => left,
                None => return,
            };
        }
    };
    let _ = tokio::time::timeout(ROOM_TIME, read).await;
}

fn too_large(most: usize) -> Response {
    (StatusCode::PAYLOAD_TOO_LARGE, format!("this message has more than {most} bytes\n")).into_response()
}
