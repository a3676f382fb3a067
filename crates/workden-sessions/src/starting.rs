//! Starting a session, in a task of its own: nobody who waits for it can break it off.
//!
//! Invariant: a sandbox that was made is either ready and in the table, or disposed of. One that nobody
//! wants any more when it is made, or that comes too late, is disposed of here.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};
use workden_core::{Error, ErrorKind, Result};

use crate::{
    LaunchRequest, Launched, Opened, SessionEventKind, SessionId, SessionRecord, ending,
    isolated::{Isolated, isolated},
    live::Live,
    spares,
    store::OpenSession,
    table::{Shared, Tenure},
};
use workden_sandboxes::runtimes::RuntimeConfig;

type Outcome = watch::Sender<Option<Result<Arc<Live>>>>;

/// What a session is to be.
pub(super) struct Wish {
    pub(super) runtime: Option<RuntimeConfig>,
    pub(super) idle: Duration,
    pub(super) record: Option<SessionRecord>,
}

/// Starts a session, and tells all who wait for it.
pub(super) async fn start(tenure: Tenure, wish: Wish, tell: Outcome) {
    let began = Instant::now();
    let (shared, id) = (Arc::clone(&tenure.shared), tenure.id().clone());
    let idle = wish.idle;
    match make_or_open(&shared, &id, wish).await {
        Ok((placed, record)) => {
            let event = || match record.as_ref().map(|open| open.opened) {
                Some(Opened::Existing) => SessionEventKind::Adopted,
                Some(Opened::New) | None => SessionEventKind::Created(began.elapsed()),
            };
            let event = event();
            settle(tenure, placed, record, idle, tell, || event).await;
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
    placed: Launched,
    record: Option<OpenSession>,
    idle: Duration,
    tell: Outcome,
    event: impl FnOnce() -> SessionEventKind,
) {
    let (shared, id) = (Arc::clone(&tenure.shared), tenure.id().clone());
    let live = Arc::new(Live::new(id.clone(), placed, record, idle));
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

/// A sandbox of this manager's own, or one whose record is in a directory.
async fn make_or_open(shared: &Arc<Shared>, id: &SessionId, wish: Wish) -> Result<(Launched, Option<OpenSession>)> {
    let Some(store) = shared.settings.store.clone() else {
        return make(shared, id, wish.runtime, wish.idle).await.map(|placed| (placed, None));
    };
    let record = match wish.record {
        Some(record) => record,
        None => store.record_or_default(id, wish.idle)?,
    };
    let (launcher, id) = (Arc::clone(&shared.factory), id.clone());
    let opening = async move { store.open(&id, record, launcher.as_ref()).await };
    let (placed, open) = isolated("the start of the sandbox", shared.settings.start_deadline, opening).await?;
    Ok((placed, Some(open)))
}

async fn make(
    shared: &Arc<Shared>,
    id: &SessionId,
    runtime: Option<RuntimeConfig>,
    idle: Duration,
) -> Result<Launched> {
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
    create(shared, LaunchRequest { session: Some(id.clone()), runtime, workspace, idle: Some(idle) }).await
}

/// Has a sandbox made, in time.
pub(super) async fn create(shared: &Arc<Shared>, order: LaunchRequest) -> Result<Launched> {
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
