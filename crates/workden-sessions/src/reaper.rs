//! Ends idle sessions.
//!
//! Invariant: a session is ended only if it was still unused when it was marked as ended, after its sandbox had
//! reported that no job runs in it. A call that comes in between keeps it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::{
    IdleClock, SessionEventKind, SessionId,
    ending::{self, Outcome},
    isolated::isolated,
    live::{End, Live},
    table::Shared,
};

/// Ends idle sessions at an interval, until the manager is dropped.
pub(super) async fn run(shared: Weak<Shared>, every: Duration) {
    let mut ticks = interval(every.max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let Some(shared) = shared.upgrade() else { return };
        reap(&shared, |_| None, None).await;
    }
}

/// Ends the overdue sessions concurrently: those of this manager that are idle for longer than `most` says, and those of
/// the store that are idle for longer than `others`. Returns how many.
pub(super) async fn reap(
    shared: &Arc<Shared>,
    most: impl Fn(&SessionId) -> Option<Duration>,
    others: Option<Duration>,
) -> usize {
    let mut reaping = JoinSet::new();
    for live in shared.ready() {
        let most = most(&live.id);
        // Only the sandbox knows where it keeps the clock.
        if shared.settings.idle_clock == IdleClock::Sandbox || live.overdue(most).is_some() {
            reaping.spawn(reap_one(Arc::clone(shared), live, most));
        }
    }
    let mut reaped = 0;
    while let Some(ended) = reaping.join_next().await {
        reaped += usize::from(matches!(ended, Ok(Reaped::Ended)));
    }
    reaped + reap_others(shared, others).await
}

/// Ends idle sessions of the store that no manager uses any more. Returns how many.
async fn reap_others(shared: &Shared, most: Option<Duration>) -> usize {
    let Some(store) = &shared.settings.store else { return 0 };
    match store.reap(most).await {
        Ok(ended) => {
            for (id, idle) in &ended {
                shared.listeners.tell(Some(id), SessionEventKind::Reaped(*idle));
            }
            ended.len()
        }
        Err(error) => {
            shared.listeners.tell(None, SessionEventKind::Failed(error));
            0
        }
    }
}

enum Reaped {
    Ended,
    StillUsed,
}

async fn reap_one(shared: Arc<Shared>, live: Arc<Live>, most: Option<Duration>) -> Reaped {
    let sandbox = Arc::clone(&live.placed.sandbox);
    let asked_at = Instant::now();
    match isolated("the sandbox", shared.settings.answer_deadline, async move { sandbox.usage().await }).await {
        // A job counts as use.
        Ok(usage) if usage.jobs > 0 => {
            let _ = live.touch(None);
            return Reaped::StillUsed;
        }
        Ok(usage) if shared.settings.idle_clock == IdleClock::Sandbox => live.set_idle(usage.idle, asked_at),
        // A sandbox that does not answer counts as idle.
        Ok(_) | Err(_) => {}
    }
    let mut idle = None;
    let tenure = shared.take_over(&live, |live| {
        idle = live.end_if_overdue(most);
        idle.is_some()
    });
    let (Some(tenure), Some(idle)) = (tenure, idle) else { return Reaped::StillUsed };
    // In a separate task: it ends even if the caller goes away.
    match tokio::spawn(ending::end(tenure, live, End::Idle(idle))).await {
        Ok(Outcome::Stays) => Reaped::StillUsed,
        Ok(Outcome::Gone) | Err(_) => Reaped::Ended,
    }
}
