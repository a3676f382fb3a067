//! Ends sessions, each in a separate task: a sandbox that hangs, fails or panics when it is stopped does not delay the
//! others, and is removed all the same.

use std::sync::Arc;

use workden_core::{Error, ErrorKind, Result};

use crate::{
    Launched, Leaving, Left, SessionEventKind, SessionFiles, SessionId, SessionStore,
    isolated::isolated,
    live::{End, Live},
    table::{Gone, Phase, Shared, Tenure},
};

/// Orders the end of a session in any state. Returns a handle to wait for the end, and whether this is the first order.
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
pub(super) async fn end(tenure: Tenure, live: Arc<Live>, why: End) -> Outcome {
    let shared = Arc::clone(&tenure.shared);
    let ended = match &shared.settings.store {
        Some(store) => match end_record(&shared, store, &live, why).await {
            Ok(Left::GoesOn) if matches!(why, End::Idle(_)) => {
                let sentence = format!("another process uses the session `{}`", live.id);
                tenure.restore(&live, Error::new(ErrorKind::Busy, sentence));
                let _ = live.touch(None);
                return Outcome::Stays;
            }
            ended => ended.map(drop),
        },
        None => {
            let stopped = stop(&shared, &live.placed).await;
            match remove(&shared, live.placed.name.clone()).await {
                // A sandbox that is neither used nor listed would run on unseen. A dead one is replaced in any case.
                Err(error) if why != End::Dead => {
                    shared.listeners.tell(Some(&live.id), SessionEventKind::Failed(error.clone()));
                    tenure.restore(&live, error);
                    return Outcome::Stays;
                }
                removed => removed.and(stopped),
            }
        }
    };
    let kind = match (&ended, why) {
        (Err(error), _) => SessionEventKind::Failed(error.clone()),
        (Ok(()), End::Released | End::Shutdown | End::Abandoned) => SessionEventKind::Released,
        (Ok(()), End::Idle(idle)) => SessionEventKind::Reaped(idle),
        (Ok(()), End::Dead) => SessionEventKind::Removed(live.placed.name.clone()),
    };
    shared.listeners.tell(Some(&live.id), kind);
    tenure.give_up(ended);
    Outcome::Gone
}

/// What became of a session that was to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is out of the table.
    Gone,
    /// Its sandbox could not be removed: it can be used, and released again.
    Stays,
}

/// Ends a session whose record is in a store.
async fn end_record(shared: &Arc<Shared>, store: &Arc<dyn SessionStore>, live: &Arc<Live>, why: End) -> Result<Left> {
    let (store, launcher, live) = (Arc::clone(store), Arc::clone(&shared.factory), Arc::clone(live));
    let ended = async move {
        match (why, &live.record) {
            (End::Abandoned, _) => Ok(Left::GoesOn),
            (End::Dead, _) => store.remove_dead(&live.id, launcher.as_ref()).await.map(|()| Left::Ended),
            // Only a caller that names the session ends it for others, too.
            (End::Idle(_), Some(open)) => open.leave(launcher.as_ref(), Leaving::Idle).await,
            (End::Shutdown, Some(open)) => open.leave(launcher.as_ref(), Leaving::Shutdown).await,
            (End::Released | End::Idle(_) | End::Shutdown, _) => {
                store.release(&live.id, launcher.as_ref(), SessionFiles::Stay).await.map(|_| Left::Ended)
            }
        }
    };
    isolated("ending the session", shared.settings.stop_deadline, ended).await
}

/// Stops a sandbox and removes it.
pub(super) async fn dispose(shared: &Arc<Shared>, placed: Launched) -> Result<()> {
    let stopped = stop(shared, &placed).await;
    remove(shared, placed.name).await?;
    stopped
}

/// Stops a sandbox. One that is gone has stopped.
async fn stop(shared: &Arc<Shared>, placed: &Launched) -> Result<()> {
    let (sandbox, most) = (Arc::clone(&placed.sandbox), shared.settings.stop_deadline);
    match isolated("stopping the sandbox", most, async move { sandbox.stop().await }).await {
        Err(error) if error.kind() == ErrorKind::Gone => Ok(()),
        stopped => stopped,
    }
}

/// Does the same for a sandbox without a session, and reports the outcome to the listeners.
pub(super) async fn dispose_and_tell(shared: &Arc<Shared>, placed: Launched) {
    let name = placed.name.clone();
    let kind = match dispose(shared, placed).await {
        Ok(()) => SessionEventKind::Removed(name),
        Err(error) => SessionEventKind::Failed(error),
    };
    shared.listeners.tell(None, kind);
}

/// Asks the launcher to remove the sandbox of this name.
pub(super) async fn remove(shared: &Arc<Shared>, name: String) -> Result<()> {
    let (factory, most) = (Arc::clone(&shared.factory), shared.settings.stop_deadline);
    isolated("removing the sandbox", most, async move { factory.remove(&name).await }).await
}
