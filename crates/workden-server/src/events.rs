//! `EventLog`: records what happens in sessions, and tells those that follow a session.
//!
//! Calls hand events over without waiting; one task writes them in batches. An answer to a call that changes something
//! is sent after its events are stored, so that none is lost with the process. While the database cannot store them,
//! calls wait for a moment, and are then told so.

use std::{
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::Serialize;
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};
use workden::{Error, ErrorKind, Result};
use workden_core::{Audit, AuditEvent};

use crate::{
    clock::Moment,
    database::{Database, EventWriter, NewEvent},
    operations::Metrics,
};

/// Events that wait to be written; callers wait above this.
const MOST_WAITING: u64 = 20_000;
/// Events in one transaction.
const BATCH: usize = 500;
/// How long events wait for others, while no call waits for them: most of what a few events cost is their transaction.
const GATHERING: Duration = Duration::from_millis(20);
/// How long to wait before a batch that could not be written is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// How long a call waits while its events cannot be stored.
const PATIENCE: Duration = Duration::from_secs(10);

/// The recorder of events.
#[derive(Debug)]
pub(crate) struct EventLog {
    waiting: Mutex<Waiting>,
    arrived: Notify,
    /// A call waits for what has arrived.
    wanted: Notify,
    stored: watch::Sender<Stored>,
    metrics: Arc<Metrics>,
}

/// How far the writer is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    /// How many events are stored.
    count: u64,
    /// Why the next ones cannot be stored, while it tries.
    failure: Option<Error>,
}

#[derive(Debug, Default)]
struct Waiting {
    events: Vec<NewEvent>,
    /// How many events have been handed over.
    count: u64,
}

impl EventLog {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Arc<Self> {
        let (waiting, stored) = (Mutex::default(), watch::Sender::default());
        Arc::new(Self { waiting, arrived: Notify::new(), wanted: Notify::new(), stored, metrics })
    }

    /// Hands over an event.
    pub(crate) fn record(&self, event: NewEvent) {
        self.metrics.recorded(event.kind);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.events.push(event);
        waiting.count += 1;
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Waits until all events that were handed over before are stored.
    ///
    /// # Errors
    ///
    /// When they cannot be stored for a while. They are tried again.
    pub(crate) async fn settle(&self) -> Result<()> {
        let count = self.handed_over();
        let mut stored = self.stored.subscribe();
        if stored.borrow().count < count {
            self.wanted.notify_one();
        }
        loop {
            // The writer lives as long as the service.
            let all = stored.wait_for(|stored| stored.count >= count);
            if let Ok(done) = timeout(PATIENCE, all).await {
                return done.map(drop).map_err(|_| Error::new(ErrorKind::Unreachable, "the service is ending"));
            }
            let failure = self.stored.borrow().failure.clone();
            if let Some(failure) = failure {
                let sentence = format!("what the call did is not recorded yet: {}", failure.sentence());
                return Err(Error::new(failure.kind(), sentence)
                    .hint("look at what was done before you repeat the call; the service goes on trying"));
            }
        }
    }

    /// Waits while too many events wait to be written.
    ///
    /// # Errors
    ///
    /// As [`settle`](Self::settle).
    pub(crate) async fn room(&self) -> Result<()> {
        if self.waiting() > MOST_WAITING { self.settle().await } else { Ok(()) }
    }

    /// Returns how many events are not stored yet.
    pub(crate) fn waiting(&self) -> u64 {
        self.handed_over().saturating_sub(self.stored.borrow().count)
    }

    fn handed_over(&self) -> u64 {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// Follows what is stored: the receiver is told of every change.
    pub(crate) fn follow(&self) -> watch::Receiver<Stored> {
        self.stored.subscribe()
    }

    /// Writes events until the service ends.
    pub(crate) async fn write_to(self: Arc<Self>, database: Database, mut writer: EventWriter) {
        loop {
            let arrived = self.arrived.notified();
            if self.waiting() == 0 {
                arrived.await;
            }
            if self.waiting() < BATCH as u64 {
                let _ = timeout(GATHERING, self.wanted.notified()).await;
            }
            let batch = self.take();
            if batch.is_empty() {
                continue;
            }
            while let Err(error) = database.add_events(&mut writer, &batch).await {
                let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                tracing::error!(%error, cause, events = batch.len(), "cannot record events; retrying");
                self.stored.send_modify(|stored| stored.failure = Some(error));
                tokio::time::sleep(RETRY).await;
            }
            let written = batch.len() as u64;
            self.stored.send_modify(|stored| {
                stored.count += written;
                stored.failure = None;
            });
        }
    }

    fn take(&self) -> Vec<NewEvent> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let most = waiting.events.len().min(BATCH);
        waiting.events.drain(..most).collect()
    }
}

/// Records the calls of one caller in one session.
#[derive(Debug)]
pub(crate) struct CallRecorder {
    pub(crate) log: Arc<EventLog>,
    pub(crate) session: String,
    pub(crate) tenant: String,
    pub(crate) actor: String,
}

impl CallRecorder {
    /// Records an event of the session.
    pub(crate) fn tell(&self, kind: &'static str, data: &impl Serialize) {
        let (session, tenant, actor) = (self.session.clone(), self.tenant.clone(), self.actor.clone());
        let data = serde_json::to_string(data).unwrap_or_else(|_| Value::Null.to_string());
        self.log.record(NewEvent { session, tenant, at: Moment::now(), kind, actor, data });
    }
}

impl Audit for CallRecorder {
    fn record(&self, event: &AuditEvent) {
        self.tell("call", event);
    }

    fn elapsed(&self) -> Option<Duration> {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        Some(START.elapsed())
    }
}
