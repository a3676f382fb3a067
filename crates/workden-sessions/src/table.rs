//! The table of sessions: one slot for each id, in any state.
//!
//! Invariant: a slot that is not ready belongs to one task, which holds its [`Tenure`] and is the only one to
//! take it out of the table; when that task goes away, so does the slot.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    task::AbortHandle,
    time::Instant,
};
use workden_core::{Error, ErrorKind, Result};

use crate::{
    Launched, Launcher, SessionId,
    events::Listeners,
    live::{End, Live},
    settings::Settings,
};
use workden_sandboxes::runtimes::RuntimeConfig;

/// State that all tasks of one manager share.
pub(super) struct Shared {
    pub(super) factory: Arc<dyn Launcher>,
    pub(super) settings: Settings,
    pub(super) listeners: Listeners,
    /// Notified when a spare sandbox is taken, and at the end of the manager.
    pub(super) spare_wanted: Notify,
    /// The task that ends idle sessions.
    pub(super) reaper: Mutex<Option<AbortHandle>>,
    table: Mutex<Table>,
}

#[derive(Default)]
pub(super) struct Table {
    pub(super) slots: BTreeMap<SessionId, Slot>,
    pub(super) spares: Vec<Launched>,
    /// Whether a spare sandbox is being created.
    pub(super) spare_in_making: bool,
    /// How many spare sandboxes are being assigned to a session.
    pub(super) spares_in_giving: usize,
    /// Nothing is created any more.
    pub(super) closed: bool,
}

/// The state of a session.
pub(super) struct Slot {
    pub(super) installed: Installed,
    pub(super) since: Instant,
    pub(super) phase: Phase,
    /// Sends how the session ended, once it is out of the table.
    gone: watch::Sender<Option<Result<()>>>,
}

pub(super) enum Phase {
    Starting {
        outcome: watch::Receiver<Option<Result<Arc<Live>>>>,
        /// The session ends as soon as it has started.
        unwanted: Option<End>,
    },
    Ready(Arc<Live>),
    Stopping,
}

/// The runtime of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Installed {
    Known(Option<Box<RuntimeConfig>>),
    /// An earlier manager created the session.
    Unknown,
}

impl Shared {
    pub(super) fn new(factory: Arc<dyn Launcher>, settings: Settings) -> Self {
        let listeners = Listeners::new(settings.events);
        let (spare_wanted, reaper, table) = (Notify::new(), Mutex::default(), Mutex::default());
        Self { factory, settings, listeners, spare_wanted, reaper, table }
    }

    /// Locks the table. Never held across an `await`.
    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sessions that are ready.
    pub(super) fn ready(&self) -> Vec<Arc<Live>> {
        let table = self.table();
        let ready = |slot: &Slot| match &slot.phase {
            Phase::Ready(live) => Some(Arc::clone(live)),
            _ => None,
        };
        table.slots.values().filter_map(ready).collect()
    }

    /// Takes over a ready session, if it is still this one and `ends` marks it as ended.
    pub(super) fn take_over(self: &Arc<Self>, live: &Arc<Live>, ends: impl FnOnce(&Live) -> bool) -> Option<Tenure> {
        let mut table = self.table();
        let slot = table.slots.get_mut(&live.id)?;
        let is_this = matches!(&slot.phase, Phase::Ready(ready) if Arc::ptr_eq(ready, live));
        if !is_this || !ends(live) {
            return None;
        }
        slot.phase = Phase::Stopping;
        Some(Tenure::new(self, &live.id))
    }
}

impl Table {
    /// Whether a spare sandbox exists, or is being created, outside the table.
    pub(super) fn has_spare_between(&self) -> bool {
        self.spare_in_making || self.spares_in_giving > 0
    }
}

impl Slot {
    /// Returns a slot that is starting, and the sender of its outcome.
    pub(super) fn starting(installed: Installed) -> (Self, watch::Sender<Option<Result<Arc<Live>>>>) {
        let (tell, outcome) = watch::channel(None);
        let phase = Phase::Starting { outcome, unwanted: None };
        (Self { installed, since: Instant::now(), phase, gone: watch::Sender::new(None) }, tell)
    }

    /// Returns a slot that keeps others from using the id.
    pub(super) fn stopping() -> Self {
        let installed = Installed::Unknown;
        Self { installed, since: Instant::now(), phase: Phase::Stopping, gone: watch::Sender::new(None) }
    }

    /// Returns a handle that waits until the session is out of the table.
    pub(super) fn gone(&self) -> Gone {
        Gone(self.gone.subscribe())
    }
}

/// Waits until a session is out of the table.
pub(super) struct Gone(watch::Receiver<Option<Result<()>>>);

impl Gone {
    /// Waits, and returns how it ended.
    pub(super) async fn wait(mut self) -> Result<()> {
        match self.0.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or(Ok(())),
            Err(_) => Ok(()),
        }
    }

    /// Does the same with a time limit.
    pub(super) async fn wait_within(self, most: Duration) -> Result<()> {
        tokio::time::timeout(most, self.wait()).await.unwrap_or_else(|_| {
            let seconds = most.as_secs_f64();
            Err(Error::new(ErrorKind::TimedOut, format!("ending timed out after {seconds} s; it continues")))
        })
    }
}

/// The right to a slot that is not ready, and the duty to take it out of the table, or make it ready.
pub(super) struct Tenure {
    pub(super) shared: Arc<Shared>,
    id: SessionId,
    how: Option<Result<()>>,
}

impl Tenure {
    /// Takes the right to a slot that was just inserted or taken over.
    pub(super) fn new(shared: &Arc<Shared>, id: &SessionId) -> Self {
        Self { shared: Arc::clone(shared), id: id.clone(), how: Some(Ok(())) }
    }

    pub(super) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Makes the session ready, unless it is no longer wanted.
    pub(super) fn make_ready(mut self, live: &Arc<Live>) -> Result<(), (Self, End)> {
        let shared = Arc::clone(&self.shared);
        let mut table = shared.table();
        let closed = table.closed;
        let Some(slot) = table.slots.get_mut(&self.id) else { return Ok(()) };
        let unwanted = match &slot.phase {
            Phase::Starting { unwanted, .. } => *unwanted,
            _ => None,
        };
        match unwanted.or(closed.then_some(End::Abandoned)) {
            None => {
                slot.phase = Phase::Ready(Arc::clone(live));
                self.how = None;
                Ok(())
            }
            Some(end) => {
                slot.phase = Phase::Stopping;
                drop(table);
                Err((self, end))
            }
        }
    }

    /// Makes a session ready again that could not be ended, and tells those who wait for its end why.
    pub(super) fn restore(mut self, live: &Arc<Live>, why: Error) {
        self.how = None;
        let mut table = self.shared.table();
        let Some(slot) = table.slots.get_mut(&self.id) else { return };
        live.revive();
        slot.phase = Phase::Ready(Arc::clone(live));
        std::mem::replace(&mut slot.gone, watch::Sender::new(None)).send_replace(Some(Err(why)));
    }

    /// Takes the slot out of the table.
    pub(super) fn give_up(mut self, how: Result<()>) {
        self.how = Some(how);
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        let Some(how) = self.how.take() else { return };
        let slot = self.shared.table().slots.remove(&self.id);
        if let Some(slot) = slot {
            slot.gone.send_replace(Some(how));
        }
    }
}
