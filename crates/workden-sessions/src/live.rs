//! A session that is there: who uses it, since when nobody does, and whether it has been ended.
//!
//! Invariant: these are one value under one lock, so that a call either begins before the session is ended,
//! and is counted, or is told that it is gone. Who ends a session for being idle cannot miss a call.

use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use workden_core::{Error, ErrorKind, Result, Sandbox};

use crate::{Launched, SessionId, store::OpenSession};

/// A session that is there.
pub(super) struct Live {
    pub(super) id: SessionId,
    pub(super) placed: Launched,
    /// Its record, where sessions outlive this process.
    pub(super) record: Option<OpenSession>,
    used: Mutex<Used>,
}

struct Used {
    /// Calls under way, and processes that run.
    calls: usize,
    /// When the last one began or ended.
    last: Instant,
    /// When the sandbox was last known to answer, unless it was heard to be gone since.
    answered: Option<Instant>,
    /// How long it may be idle.
    idle: Duration,
    ended: Option<End>,
}

/// Why a session was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Released,
    Idle(Duration),
    Dead,
    Shutdown,
}

impl Live {
    pub(super) fn new(id: SessionId, placed: Launched, record: Option<OpenSession>, idle: Duration) -> Self {
        let now = Instant::now();
        let used = Mutex::new(Used { calls: 0, last: now, answered: Some(now), idle, ended: None });
        Self { id, placed, record, used }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call.
    pub(super) fn begin(self: &Arc<Self>) -> Result<InUse> {
        let mut used = self.used();
        if let Some(end) = used.ended {
            return Err(self.gone(end));
        }
        used.calls += 1;
        used.last = Instant::now();
        Ok(InUse(Arc::clone(self)))
    }

    /// Somebody asks for it now, and may say how long it may be idle from now on.
    pub(super) fn touch(&self, idle: Option<Duration>) -> Result<()> {
        let mut used = self.used();
        if let Some(end) = used.ended {
            return Err(self.gone(end));
        }
        used.last = Instant::now();
        used.idle = idle.unwrap_or(used.idle);
        Ok(())
    }

    /// Hears what a call was answered, and hands it on.
    pub(super) fn told<T>(&self, answer: Result<T>) -> Result<T> {
        let gone = matches!(&answer, Err(error) if error.kind() == ErrorKind::Gone);
        let mut used = self.used();
        match used.ended {
            Some(end) if gone => return Err(self.gone(end)),
            _ => used.answered = (!gone).then(Instant::now),
        }
        answer
    }

    /// It must be asked whether it is alive before it is given to anybody.
    pub(super) fn doubt(&self) {
        self.used().answered = None;
    }

    /// Whether it has answered within this time.
    pub(super) fn answered_within(&self, time: Duration) -> bool {
        self.used().answered.is_some_and(|answered| answered.elapsed() < time)
    }

    /// Calls under way, and how long ago the last one was.
    pub(super) fn use_now(&self) -> (usize, Duration) {
        let used = self.used();
        (used.calls, if used.calls > 0 { Duration::ZERO } else { used.last.elapsed() })
    }

    /// How long it has been idle, if that is as long as it may be, or as `most` says.
    pub(super) fn overdue(&self, most: Option<Duration>) -> Option<Duration> {
        overdue(&self.used(), most)
    }

    /// Ends it, unless somebody did before: calls that begin after this are told that it is gone.
    pub(super) fn end(&self, why: End) -> bool {
        let mut used = self.used();
        let first = used.ended.is_none();
        used.ended.get_or_insert(why);
        first
    }

    /// Ends it if it still is overdue.
    pub(super) fn end_if_overdue(&self, most: Option<Duration>) -> Option<Duration> {
        let mut used = self.used();
        let idle = overdue(&used, most)?;
        used.ended = Some(End::Idle(idle));
        Some(idle)
    }

    fn gone(&self, end: End) -> Error {
        let id = &self.id;
        let why = match end {
            End::Released => "it was released".to_owned(),
            End::Idle(idle) => format!("nobody had used it for {} seconds", idle.as_secs()),
            End::Dead => "its sandbox no longer answered".to_owned(),
            End::Shutdown => "all sessions were ended".to_owned(),
        };
        Error::new(ErrorKind::Gone, format!("the session `{id}` is gone: {why}"))
            .hint("ask for it again by its id: it is made anew, with the files that are kept for it")
    }
}

fn overdue(used: &Used, most: Option<Duration>) -> Option<Duration> {
    let idle = used.last.elapsed();
    let free = used.calls == 0 && used.ended.is_none();
    (free && idle >= most.unwrap_or(used.idle)).then_some(idle)
}

/// A call under way.
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
