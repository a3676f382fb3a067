//! What happens to sessions, told to whoever listens. Nobody waits for a listener: one that is too slow
//! misses what is oldest, and is told how much.

use std::time::{Duration, SystemTime};

use tokio::sync::broadcast;
use workden_core::Error;

use crate::SessionId;

/// Something that happened to a session.
#[derive(Clone, Debug)]
pub struct SessionEvent {
    /// When.
    pub at: SystemTime,
    /// To whom; `None` for a spare sandbox, and for one that nobody can tell whose it was.
    pub session: Option<SessionId>,
    /// What.
    pub kind: SessionEventKind,
}

/// What can happen to a session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionEventKind {
    /// It was made, in this time.
    Created(Duration),
    /// Somebody asked for it, and it was there.
    Reused,
    /// It was released, or ended by a shutdown.
    Released,
    /// It was ended because nobody had used it for this long.
    Reaped(Duration),
    /// It could not be made, or not be ended as it should.
    Failed(Error),
    /// It was there from before, and goes on.
    Adopted,
    /// A sandbox of this name was removed: it was dead, or from before and nobody's.
    Removed(String),
}

/// Who is told.
#[derive(Debug)]
pub(super) struct Listeners(broadcast::Sender<SessionEvent>);

impl Listeners {
    pub(super) fn new(capacity: usize) -> Self {
        // A channel holds at least one, and there is an end to what it can hold.
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
        // Nobody listening is fine.
        let _ = self.0.send(SessionEvent { at: SystemTime::now(), session: session.cloned(), kind });
    }
}
