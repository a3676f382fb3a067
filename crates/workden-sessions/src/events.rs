//! Events of sessions. The manager never waits for a listener: a slow one misses the oldest events, and learns how
//! many.

use std::time::{Duration, SystemTime};

use tokio::sync::broadcast;
use workden_core::Error;

use crate::SessionId;

/// An event of a session.
#[derive(Clone, Debug)]
pub struct SessionEvent {
    /// When it happened.
    pub at: SystemTime,
    /// The session; `None` for a spare sandbox, and for one whose session is unknown.
    pub session: Option<SessionId>,
    /// What happened.
    pub kind: SessionEventKind,
}

/// The kinds of events.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEventKind {
    /// The session was created, in this time.
    Created(Duration),
    /// A caller asked for the session, and it existed.
    Reused,
    /// The session was released, or ended by a shutdown.
    Released,
    /// The session was ended after it had been idle for this long.
    Reaped(Duration),
    /// The session could not be created, or its end failed.
    Failed(Error),
    /// The session of an earlier manager was adopted.
    Adopted,
    /// A sandbox of this name was removed: it was dead, or a left-over without a session.
    Removed(String),
}

/// The subscribers of a manager.
#[derive(Debug)]
pub(super) struct Listeners(broadcast::Sender<SessionEvent>);

impl Listeners {
    pub(super) fn new(capacity: usize) -> Self {
        // `broadcast` panics on a capacity of zero, and on one that is too large.
        Self(broadcast::Sender::new(capacity.clamp(1, 1 << 20)))
    }

    pub(super) fn subscribe(&self) -> broadcast::Receiver<SessionEvent> {
        self.0.subscribe()
    }

    pub(super) fn tell(&self, session: Option<&SessionId>, kind: SessionEventKind) {
        match &kind {
            SessionEventKind::Failed(error) => {
                tracing::warn!(session = session.map(SessionId::as_str), %error, "session failed");
            }
            kind => tracing::info!(session = session.map(SessionId::as_str), ?kind, "session changed"),
        }
        // An error only means that there are no listeners.
        let _ = self.0.send(SessionEvent { at: SystemTime::now(), session: session.cloned(), kind });
    }
}
