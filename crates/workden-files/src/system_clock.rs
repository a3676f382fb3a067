//! The machine's clock, and an in-memory workspace that uses it.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use workden_core::{Clock, Timestamp};

use crate::StateBackend;

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let nanos = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
            Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |nanos| -nanos),
        };
        Timestamp::from_nanos(nanos)
    }
}

/// Returns an empty workspace in memory, with the machine's clock.
#[must_use]
pub fn memory() -> StateBackend {
    StateBackend::new(Arc::new(SystemClock))
}
