//! `Clock`: the time as a value from outside. The core reads no clock of its own, so that it can
//! run, and be tested, anywhere.

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use crate::{Completeness, Timestamp};

/// Tells the time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Now.
    fn now(&self) -> Timestamp;
}

/// A clock that goes on by one microsecond whenever it is read: every moment is different, and
/// every run is the same.
#[derive(Debug, Default)]
pub struct SteppingClock(AtomicI64);

impl Clock for SteppingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(i128::from(self.0.fetch_add(1_000, Ordering::Relaxed)))
    }
}

/// When a search has to stop, by some clock.
#[derive(Debug)]
pub struct Deadline<'a> {
    clock: &'a dyn Clock,
    started: Timestamp,
    allowed: Duration,
}

impl<'a> Deadline<'a> {
    /// `allowed` from now on.
    #[must_use]
    pub fn new(clock: &'a dyn Clock, allowed: Duration) -> Self {
        Self { clock, started: clock.now(), allowed }
    }

    /// Whether the time is up.
    #[must_use]
    pub fn is_past(&self) -> bool {
        self.clock.now().since(self.started) >= self.allowed
    }

    /// What to say of a search that `stopped` or came to its end.
    #[must_use]
    pub fn completeness(stopped: bool) -> Completeness {
        if stopped { Completeness::StoppedAtDeadline } else { Completeness::Complete }
    }
}
