//! Measures how long a runtime was blocked.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{counts::times, processes::PATIENCE};

/// The longest time between two runs of a task that should run every millisecond.
pub(crate) struct Stalls(Arc<AtomicU64>);

impl Stalls {
    /// Watches the current runtime.
    pub(crate) fn watch() -> Self {
        let worst = Arc::new(AtomicU64::new(0));
        let seen = Arc::downgrade(&worst);
        tokio::spawn(async move {
            while let Some(seen) = seen.upgrade() {
                let started = Instant::now();
                tokio::time::sleep(Duration::from_millis(1)).await;
                let stalled = started.elapsed().saturating_sub(Duration::from_millis(1));
                seen.fetch_max(u64::try_from(stalled.as_micros()).unwrap(), Ordering::Relaxed);
            }
        });
        Self(worst)
    }

    /// Asserts that it was not blocked. Only a long run on an idle machine can tell that to the millisecond.
    pub(crate) fn were_short(&self) {
        let stalled = Duration::from_micros(self.0.load(Ordering::Relaxed));
        assert!(stalled < times(PATIENCE, Duration::from_millis(50)), "the runtime was blocked for {stalled:?}");
    }
}
