//! Ends everything that a manager has, within a deadline.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::Instant};
use workden_core::{Error, ErrorKind};

use crate::{
    SessionId,
    ending::{dispose, order},
    live::End,
    spares,
    table::Shared,
};

/// The longest deadline. `Instant` cannot count much further.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The outcome of a shutdown.
#[derive(Clone, Debug, Default)]
pub struct ShutdownReport {
    /// Sessions that have ended.
    pub sessions: usize,
    /// Spare sandboxes that were removed.
    pub spares: usize,
    /// The errors, each with its session; `None` for a spare sandbox.
    pub failed: Vec<(Option<SessionId>, Error)>,
}

/// Ends all sessions and spare sandboxes concurrently, and waits until the deadline.
pub(super) async fn end_all(shared: &Arc<Shared>, deadline: Duration) -> ShutdownReport {
    let deadline = deadline.min(LONGEST);
    let until = Instant::now() + deadline;
    let (ids, spares) = {
        let mut table = shared.table();
        table.closed = true;
        (table.slots.keys().cloned().collect::<Vec<_>>(), std::mem::take(&mut table.spares))
    };
    shared.spare_wanted.notify_one();
    let mut ending = JoinSet::new();
    for id in ids {
        let Some((gone, _)) = order(shared, &id, End::Shutdown) else { continue };
        ending.spawn(async move { (Some(id), gone.wait_within(deadline).await) });
    }
    for spare in spares {
        let shared = Arc::clone(shared);
        // Not a task of the set: dropping the set must not abort it.
        let task = tokio::spawn(async move { dispose(&shared, spare).await });
        ending.spawn(async move {
            let broken = || Err(Error::new(ErrorKind::TimedOut, "ending a spare sandbox timed out"));
            (
                None,
                tokio::time::timeout_at(until, task)
                    .await
                    .map_or_else(|_| broken(), |ended| ended.unwrap_or_else(|_| broken())),
            )
        });
    }
    let mut report = ShutdownReport::default();
    while let Some(Ok((id, ended))) = ending.join_next().await {
        match (ended, id) {
            (Ok(()), Some(_)) => report.sessions += 1,
            (Ok(()), None) => report.spares += 1,
            (Err(error), id) => report.failed.push((id, error)),
        }
    }
    if let Err(error) = spares::none_in_making(shared, until).await {
        report.failed.push((None, error));
    }
    report
}
