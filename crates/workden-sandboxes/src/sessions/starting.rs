//! Starting a session, in a task of its own: nobody who waits for it can break it off.
//!
//! Invariant: a sandbox that was made is either ready and in the table, or disposed of. One that nobody
//! wants any more when it is made, or that comes too late, is disposed of here.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};
use workden_core::{Error, ErrorKind, Result};

use super::{
    Order, Placed, SessionEventKind, SessionId, ending,
    isolated::{Isolated, isolated},
    live::Live,
    spares,
    table::{Shared, Tenure},
};
use crate::runtimes::RuntimeConfig;

type Outcome = watch::Sender<Option<Result<Arc<Live>>>>;

/// Starts a session, and tells all who wait for it.
pub(super) async fn start(tenure: Tenure, runtime: Option<RuntimeConfig>, idle: Duration, tell: Outcome) {
    let began = Instant::now();
    let (shared, id) = (Arc::clone(&tenure.shared), tenure.id().clone());
    match make(&shared, &id, runtime, idle).await {
        Ok(placed) => {
            let created = || SessionEventKind::Created(began.elapsed());
            settle(tenure, placed, idle, tell, created).await;
        }
        Err(error) => {
            shared.listeners.tell(Some(&id), SessionEventKind::Failed(error.clone()));
            // First the slot: who hears of the failure can try again.
            tenure.give_up(Ok(()));
            tell.send_replace(Some(Err(error)));
        }
    }
}

/// Makes a session of a sandbox that is there, or disposes of that when nobody wants it any more.
pub(super) async fn settle(
    tenure: Tenure,
    placed: Placed,
    idle: Duration,
    tell: Outcome,
    event: impl FnOnce() -> SessionEventKind,
) {
    let (shared, id) = (Arc::clone(&tenure.shared), tenure.id().clone());
    let live = Arc::new(Live::new(id.clone(), placed, idle));
    match tenure.make_ready(&live) {
        Ok(()) => {
            shared.listeners.tell(Some(&id), event());
            tell.send_replace(Some(Ok(live)));
        }
        Err((tenure, end)) => {
            let why = format!("the session `{id}` was ended while it started");
            tell.send_replace(Some(Err(Error::new(ErrorKind::Gone, why).hint("ask for it again"))));
            live.end(end);
            ending::end(tenure, live, end).await;
        }
    }
}

async fn make(shared: &Arc<Shared>, id: &SessionId, runtime: Option<RuntimeConfig>, idle: Duration) -> Result<Placed> {
    let workspace = match shared.settings.workspaces.clone() {
        Some(workspaces) => {
            let id = id.clone();
            let prepared = tokio::task::spawn_blocking(move || workspaces.prepare(&id)).await;
            Some(prepared.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "the files cannot be prepared")))?)
        }
        None => None,
    };
    if workspace.is_none()
        && runtime == shared.settings.default_runtime
        && let Some(placed) = spares::take(shared, id).await
    {
        return Ok(placed);
    }
    create(shared, Order { session: Some(id.clone()), runtime, workspace, idle: Some(idle) }).await
}

/// Has a sandbox made, in time.
pub(super) async fn create(shared: &Arc<Shared>, order: Order) -> Result<Placed> {
    let (factory, session) = (Arc::clone(&shared.factory), order.session.clone());
    let making = Isolated::begin("the start of the sandbox", async move { factory.create(&order).await });
    let late_for = Arc::clone(shared);
    let made = making.within(shared.settings.start_deadline, |late| {
        tokio::spawn(async move {
            if let Some(placed) = late.answer().await {
                ending::dispose_and_tell(&late_for, placed).await;
            }
        });
    });
    let made = made.await;
    // One that broke off may have left something behind.
    if let (Err(error), Some(session)) = (&made, &session)
        && matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Io)
    {
        sweep(shared, session).await;
    }
    made
}

/// Removes what there is of a session that did not start.
pub(super) async fn sweep(shared: &Arc<Shared>, session: &SessionId) {
    let (factory, most) = (Arc::clone(&shared.factory), shared.settings.stop_deadline);
    let found = isolated("the search for sandboxes", most, async move { factory.find().await }).await;
    for found in found.unwrap_or_default().into_iter().filter(|found| found.session.as_ref() == Some(session)) {
        if let Err(error) = ending::remove(shared, found.name.clone()).await {
            shared.listeners.tell(Some(session), SessionEventKind::Failed(error));
        }
    }
}
