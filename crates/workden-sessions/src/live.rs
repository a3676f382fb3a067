//! A running session: the calls in progress, the time of the last one, and whether the session has ended.
//!
//! Invariant: these are one value under one lock, so that a call either starts before the session ends and is counted,
//! or fails with `Gone`. Ending an idle session cannot miss a call.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use workden_core::{Error, ErrorKind, Result, Sandbox};

use crate::{Launched, OpenSession, SessionId};

/// The longest time between two records of use, of a session whose use must be recorded.
const LONGEST_UNRECORDED: Duration = Duration::from_secs(30);

/// A running session.
pub(super) struct Live {
    pub(super) id: SessionId,
    pub(super) placed: Launched,
    /// Its record, if it can outlive this process.
    pub(super) record: Option<Box<dyn OpenSession>>,
    used: Mutex<Used>,
}

struct Used {
    /// Calls in progress, and processes that run.
    calls: usize,
    /// When the last one started or ended.
    last: Instant,
    /// When the sandbox last answered; `None` once an answer said that it is gone.
    answered: Option<Instant>,
    /// How long it may be idle.
    idle: Duration,
    ended: Option<End>,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Released,
    Idle(Duration),
    Dead,
    Shutdown,
    /// The manager went away while it started. Other processes may use one whose record is in a directory.
    Abandoned,
}

impl Live {
    pub(super) fn new(id: SessionId, placed: Launched, record: Option<Box<dyn OpenSession>>, idle: Duration) -> Self {
        let now = Instant::now();
        let used = Mutex::new(Used { calls: 0, last: now, answered: Some(now), idle, ended: None });
        Self { id, placed, record, used }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a call.
    pub(super) fn begin(self: &Arc<Self>) -> Result<InUse> {
        let mut used = self.used();
        if let Some(end) = used.ended {
            return Err(self.gone(end));
        }
        used.calls += 1;
        used.last = Instant::now();
        Ok(InUse(Arc::clone(self)))
    }

    /// Records that a caller asks for the session, and sets a new idle limit if one is given.
    pub(super) fn touch(&self, idle: Option<Duration>) -> Result<()> {
        let mut used = self.used();
        if let Some(end) = used.ended {
            return Err(self.gone(end));
        }
        used.last = Instant::now();
        used.idle = idle.unwrap_or(used.idle);
        Ok(())
    }

    /// Records whether the sandbox answered, and passes the answer on.
    pub(super) fn told<T>(&self, answer: Result<T>) -> Result<T> {
        let gone = matches!(&answer, Err(error) if error.kind() == ErrorKind::Gone);
        let mut used = self.used();
        match used.ended {
            Some(end) if gone => return Err(self.gone(end)),
            _ => used.answered = (!gone).then(Instant::now),
        }
        answer
    }

    /// Makes the manager check that the sandbox is alive before it hands the session out again.
    pub(super) fn doubt(&self) {
        self.used().answered = None;
    }

    /// Whether it has answered within this time.
    pub(super) fn answered_within(&self, time: Duration) -> bool {
        self.used().answered.is_some_and(|answered| answered.elapsed() < time)
    }

    /// The calls in progress, and the time since the last one.
    pub(super) fn use_now(&self) -> (usize, Duration) {
        let used = self.used();
        (used.calls, if used.calls > 0 { Duration::ZERO } else { used.last.elapsed() })
    }

    /// How long it has been idle, if that is at least its limit, or at least `most`.
    pub(super) fn overdue(&self, most: Option<Duration>) -> Option<Duration> {
        overdue(&self.used(), most)
    }

    /// Ends it, unless it has ended already: calls that start after this fail with `Gone`.
    pub(super) fn end(&self, why: End) -> bool {
        let mut used = self.used();
        let first = used.ended.is_none();
        used.ended.get_or_insert(why);
        first
    }

    /// Ends it if it is still overdue.
    pub(super) fn end_if_overdue(&self, most: Option<Duration>) -> Option<Duration> {
        let mut used = self.used();
        let idle = overdue(&used, most)?;
        used.ended = Some(End::Idle(idle));
        Some(idle)
    }

    /// Records how long the sandbox was idle by its own clock when it was asked, unless a caller has asked for the session
    /// since.
    pub(super) fn set_idle(&self, idle: Duration, asked_at: Instant) {
        let mut used = self.used();
        if used.last <= asked_at {
            used.last = asked_at.checked_sub(idle).unwrap_or(used.last);
        }
    }

    /// Returns how long it may be idle, if it was used since its use was last recorded, and recording it again is due.
    pub(super) fn recording_due(&self) -> Option<Duration> {
        let recorded = self.record.as_ref()?.recorded()?;
        let (_, idle) = self.use_now();
        let most = self.used().idle;
        (idle < recorded && recorded >= (most / 4).min(LONGEST_UNRECORDED)).then_some(most)
    }

    /// Makes it usable again: its sandbox could not be removed, and may still have been stopped.
    pub(super) fn revive(&self) {
        let mut used = self.used();
        (used.ended, used.answered) = (None, None);
    }

    fn gone(&self, end: End) -> Error {
        let id = &self.id;
        let why = match end {
            End::Released => "it was released".to_owned(),
            End::Idle(idle) => format!("it was idle for {} s", idle.as_secs()),
            End::Dead => "its sandbox stopped responding".to_owned(),
            End::Shutdown | End::Abandoned => "the manager was shut down".to_owned(),
        };
        Error::new(ErrorKind::Gone, format!("the session `{id}` has ended: {why}"))
            .hint("open it again by its id: a new sandbox gets the files that were kept for it")
    }
}

fn overdue(used: &Used, most: Option<Duration>) -> Option<Duration> {
    let idle = used.last.elapsed();
    let free = used.calls == 0 && used.ended.is_none();
    (free && idle >= most.unwrap_or(used.idle)).then_some(idle)
}

/// A call in progress.
pub(super) struct InUse(Arc<Live>);

impl Deref for InUse {
    type Target = dyn Sandbox;

    fn deref(&self) -> &Self::Target {
        &*self.0.placed.sandbox
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut used = self.0.used();
        used.calls = used.calls.saturating_sub(1);
        used.last = Instant::now();
    }
}
