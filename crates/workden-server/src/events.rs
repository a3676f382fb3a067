//! `EventLog`: records what happens in sessions, and tells those that follow a session.
//!
//! Calls hand events over without waiting; one task writes them in batches. An answer to a call that changes something
//! is sent after its events are stored, so that none is lost with the process.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::Serialize;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use workden_core::{Audit, AuditEvent};

use crate::{
    clock::Moment,
    database::{Database, NewEvent},
};

/// Events that wait to be written; callers wait above this.
const MOST_WAITING: u64 = 20_000;
/// Events in one transaction.
const BATCH: usize = 500;
/// How long to wait before a batch that could not be written is tried again.
const RETRY: Duration = Duration::from_millis(500);

/// The recorder of events.
#[derive(Debug)]
pub(crate) struct EventLog {
    waiting: Mutex<Waiting>,
    arrived: Notify,
    /// How many events are stored.
    stored: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Waiting {
    events: Vec<NewEvent>,
    /// How many events have been handed over.
    count: u64,
}

impl EventLog {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), arrived: Notify::new(), stored: watch::Sender::new(0) })
    }

    /// Hands over an event.
    pub(crate) fn record(&self, event: NewEvent) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.events.push(event);
        waiting.count += 1;
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Waits until all events that were handed over before are stored.
    pub(crate) async fn settle(&self) {
        let count = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).count;
        // The writer lives as long as the service.
        let _ = self.stored.subscribe().wait_for(|stored| *stored >= count).await;
    }

    /// Waits while too many events wait to be written.
    pub(crate) async fn room(&self) {
        let count = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).count;
        if count.saturating_sub(*self.stored.borrow()) > MOST_WAITING {
            self.settle().await;
        }
    }

    /// Follows the number of stored events of all sessions.
    pub(crate) fn follow(&self) -> watch::Receiver<u64> {
        self.stored.subscribe()
    }

    /// Writes events until the service ends.
    pub(crate) async fn write_to(self: Arc<Self>, database: Database) {
        loop {
            let arrived = self.arrived.notified();
            let batch = self.take();
            if batch.is_empty() {
                arrived.await;
                continue;
            }
            while let Err(error) = database.add_events(&batch).await {
                tracing::error!(%error, events = batch.len(), "cannot record events; retrying");
                tokio::time::sleep(RETRY).await;
            }
            let written = batch.len() as u64;
            self.stored.send_modify(|stored| *stored += written);
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
}
