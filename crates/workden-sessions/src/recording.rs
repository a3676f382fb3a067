//! Records the use of sessions for other processes, which would end them as idle otherwise.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::{MissedTickBehavior, interval};

use crate::{live::Live, table::Shared};

/// How often sessions are looked at. Most looks find nothing to do.
const LOOK: Duration = Duration::from_secs(1);

/// Records the use of sessions until the manager is dropped.
pub(super) async fn run(shared: Weak<Shared>) {
    let mut ticks = interval(LOOK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        let due: Vec<Arc<Live>> = shared.ready().into_iter().filter(|live| live.recording_due().is_some()).collect();
        for live in due {
            record_due(&live).await;
        }
    }
}

/// Records the use of a session if that is due. Returns whether the session still exists, as far as is known.
pub(super) async fn record_due(live: &Live) -> bool {
    let (Some(idle), Some(open)) = (live.recording_due(), &live.record) else { return true };
    match open.record_use(idle).await {
        Ok(exists) => {
            if !exists {
                live.doubt();
            }
            exists
        }
        Err(error) => {
            tracing::debug!(session = %live.id, %error, "use not recorded; the next look tries again");
            true
        }
    }
}
