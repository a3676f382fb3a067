//! `Clock`: the time as a value from outside. The core never reads the system clock, so that it can run and be tested
//! anywhere.

use std::{
    fmt,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use crate::{Completeness, Timestamp};

/// Tells the time.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Returns the current time.
    fn now(&self) -> Timestamp;
}

/// A clock that advances by one microsecond at each read: every moment is different, and every run is the same.
#[derive(Debug, Default)]
pub struct SteppingClock(AtomicI64);

impl Clock for SteppingClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(i128::from(self.0.fetch_add(1_000, Ordering::Relaxed)))
    }
}

/// The moment at which a search has to stop, by some clock.
#[derive(Debug)]
pub struct Deadline<'a> {
    clock: &'a dyn Clock,
    started: Timestamp,
    allowed: Duration,
}

impl<'a> Deadline<'a> {
    /// Creates a deadline `allowed` from now.
    #[must_use]
    pub fn new(clock: &'a dyn Clock, allowed: Duration) -> Self {
        Self { clock, started: clock.now(), allowed }
    }

    /// Whether the time is up.
    #[must_use]
    pub fn is_past(&self) -> bool {
        self.clock.now().since(self.started) >= self.allowed
    }

    /// Returns the completeness of a search that `stopped` or reached its end.
    #[must_use]
    pub fn completeness(stopped: bool) -> Completeness {
        if stopped { Completeness::StoppedAtDeadline } else { Completeness::Complete }
    }
}
