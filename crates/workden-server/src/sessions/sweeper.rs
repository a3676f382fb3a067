//! The sweeper: ends sessions whose time is over. Every process of a service sweeps; a session is claimed by one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    clock::{ClockWatch, Moment},
    database::SessionRow,
    events::CallRecorder,
    service::Service,
};

/// How often to look.
const EVERY: Duration = Duration::from_secs(1);
/// How long a claim lasts: a process that dies while it ends a session is followed by another.
pub(super) const CLAIM: Duration = Duration::from_secs(60);
/// Sessions that are ended at a time.
const BATCH: i64 = 16;

/// Sweeps until the service ends.
pub(crate) async fn sweep(service: Arc<Service>) {
    let mut ticks = tokio::time::interval(EVERY);
    let mut clock = ClockWatch::new(Moment::now(), Instant::now());
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = once(&service, &mut clock).await {
            let cause = std::error::Error::source(&error);
            tracing::warn!(%error, cause, "cannot look for sessions that have ended");
        }
    }
}

async fn once(service: &Arc<Service>, clock: &mut ClockWatch) -> workden::Result<()> {
    let now = Moment::now();
    let mut looked = *clock;
    if looked.was_set(now, Instant::now()) {
        tracing::warn!("the clock of this machine was set; the idle times of sessions start again");
        service.database.restart_idle_times(now).await?;
    }
    // Not before: what failed is noticed again.
    *clock = looked;
    // First, so that a long command does not count as idle.
    for live in service.all_live().iter().filter(|live| live.is_in_use()) {
        service.database.touch_session(&live.id, now).await?;
    }
    let ended = service.database.claim_ended(&service.place, (now, now.after(CLAIM)), BATCH).await?;
    let all = ended.into_iter().map(|row| {
        let service = Arc::clone(service);
        tokio::spawn(async move { end(&service, &row).await })
    });
    for ending in all.collect::<Vec<_>>() {
        drop(ending.await);
    }
    service.sweep_snapshots(now).await
}

async fn end(service: &Service, row: &SessionRow) {
    let (session, tenant) = (row.id.clone(), row.tenant.clone());
    let recorder = CallRecorder { log: Arc::clone(&service.events), session, tenant, actor: String::new() };
    if !row.is_spare() {
        recorder.tell("session_ended", &json!({ "idle_since": row.used_at, "ends_at": row.ends_at }));
    }
    if let Err(error) = service.expire_session(row).await {
        // The claim runs out, and the session is tried again.
        tracing::warn!(%error, session = row.id, "cannot end a session");
    }
}
