//! Ending sessions, each in a task of its own: a sandbox that hangs, fails or panics when it is stopped keeps
//! nobody else from ending, and is removed all the same.

use std::{sync::Arc, time::Duration};

use tokio::{task::JoinSet, time::Instant};
use workden_core::{Error, ErrorKind, Result};

use crate::{
    DirectoryStore, Launched, SessionEventKind, SessionFiles, SessionId,
    isolated::isolated,
    live::{End, Live},
    table::{Gone, Phase, Shared, Tenure},
};

/// What became of all sessions.
#[derive(Clone, Debug, Default)]
pub struct ShutdownReport {
    /// Sessions that are gone.
    pub sessions: usize,
    /// Spare sandboxes that are gone.
    pub spares: usize,
    /// What went wrong, and with which session; `None` for a spare sandbox.
    pub failed: Vec<(Option<SessionId>, Error)>,
}

/// Orders the end of a session, whatever state it is in: for waiting until it is gone, and whether nobody had
/// ordered it before.
pub(super) fn order(shared: &Arc<Shared>, id: &SessionId, why: End) -> Option<(Gone, bool)> {
    let mut table = shared.table();
    let slot = table.slots.get_mut(id)?;
    let gone = slot.gone();
    let live = match &mut slot.phase {
        Phase::Stopping => return Some((gone, false)),
        Phase::Starting { unwanted, .. } => {
            let first = unwanted.is_none();
            unwanted.get_or_insert(why);
            return Some((gone, first));
        }
        Phase::Ready(live) => Arc::clone(live),
    };
    live.end(why);
    slot.phase = Phase::Stopping;
    let tenure = Tenure::new(shared, id);
    drop(table);
    tokio::spawn(end(tenure, live, why));
    Some((gone, true))
}

/// Ends a session that calls no longer reach, and takes it out of the table.
pub(super) async fn end(tenure: Tenure, live: Arc<Live>, why: End) {
    let shared = Arc::clone(&tenure.shared);
    let ended = match &shared.settings.store {
        Some(store) => end_record(&shared, store, &live.id, why).await,
        None => dispose(&shared, live.placed.clone()).await,
    };
    let kind = match (&ended, why) {
        (Err(error), _) => SessionEventKind::Failed(error.clone()),
        (Ok(()), End::Released | End::Shutdown) => SessionEventKind::Released,
        (Ok(()), End::Idle(idle)) => SessionEventKind::Reaped(idle),
        (Ok(()), End::Dead) => SessionEventKind::Removed(live.placed.name.clone()),
    };
    shared.listeners.tell(Some(&live.id), kind);
    tenure.give_up(ended);
}

/// Ends a session whose record is in a directory. One whose sandbox is dead is made again as it was.
async fn end_record(shared: &Arc<Shared>, store: &DirectoryStore, id: &SessionId, why: End) -> Result<()> {
    let (store, launcher, id) = (store.clone(), Arc::clone(&shared.factory), id.clone());
    let ended = async move {
        match why {
            End::Dead => store.remove_sandbox(&id, launcher.as_ref()).await,
            End::Released | End::Idle(_) | End::Shutdown => {
                store.release(&id, launcher.as_ref(), SessionFiles::Stay).await.map(drop)
            }
        }
    };
    isolated("the end of the session", shared.settings.stop_deadline, ended).await
}

/// Stops a sandbox and removes it.
pub(super) async fn dispose(shared: &Arc<Shared>, placed: Launched) -> Result<()> {
    let Launched { sandbox, name } = placed;
    let most = shared.settings.stop_deadline;
    let stopped = isolated("the stop of the sandbox", most, async move { sandbox.stop().await }).await;
    remove(shared, name).await?;
    match stopped {
        Err(error) if error.kind() == ErrorKind::Gone => Ok(()),
        stopped => stopped,
    }
}

/// The same for a sandbox that is nobody's: what goes wrong is told to whoever listens.
pub(super) async fn dispose_and_tell(shared: &Arc<Shared>, placed: Launched) {
    let name = placed.name.clone();
    let kind = match dispose(shared, placed).await {
        Ok(()) => SessionEventKind::Removed(name),
        Err(error) => SessionEventKind::Failed(error),
    };
    shared.listeners.tell(None, kind);
}

/// Has the factory remove what there is of this name.
pub(super) async fn remove(shared: &Arc<Shared>, name: String) -> Result<()> {
    let (factory, most) = (Arc::clone(&shared.factory), shared.settings.stop_deadline);
    isolated("the removal of the sandbox", most, async move { factory.remove(&name).await }).await
}

/// Ends everything, all at a time, and waits so long for it.
pub(super) async fn shutdown(shared: &Arc<Shared>, deadline: Duration) -> ShutdownReport {
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
        // Not a part of the set: it goes on ending when nobody waits any more.
        let task = tokio::spawn(async move { dispose(&shared, spare).await });
        ending.spawn(async move {
            let broken = || Err(Error::new(ErrorKind::TimedOut, "a spare sandbox has not ended in time"));
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
    if let Err(error) = crate::spares::none_in_making(shared, until).await {
        report.failed.push((None, error));
    }
    report
}
