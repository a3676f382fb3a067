//! Starts sessions, each in a separate task that no waiting caller can interrupt.
//!
//! Invariant: a created sandbox is either ready and in the table, or disposed of. One that is no longer wanted when it
//! is ready is disposed of here.

use std::{sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};
use workden_core::{Error, ErrorKind, Result};

use crate::{
    LaunchRequest, Launched, OpenRequest, OpenSession, Opened, SessionEventKind, SessionId, SessionRecord, creation,
    ending,
    isolated::isolated,
    live::Live,
    spares,
    table::{Shared, Tenure},
};
use workden_sandboxes::runtimes::RuntimeConfig;

type Outcome = watch::Sender<Option<Result<Arc<Live>>>>;

/// What to start.
pub(super) struct Wish {
    pub(super) runtime: Option<RuntimeConfig>,
    pub(super) idle: Duration,
    pub(super) record: Option<SessionRecord>,
}

/// Starts a session, and sends the outcome to all waiting callers.
pub(super) async fn start(tenure: Tenure, wish: Wish, tell: Outcome) {
    let began = Instant::now();
    let (shared, id) = (Arc::clone(&tenure.shared), tenure.id().clone());
    let idle = wish.idle;
    match make_or_open(&shared, &id, wish).await {
        Ok((placed, record)) => {
            let event = || match record.as_ref().map(|open| open.opened()) {
                Some(Opened::Existing) => SessionEventKind::Adopted,
                Some(Opened::New) | None => SessionEventKind::Created(began.elapsed()),
            };
            let event = event();
            settle(tenure, placed, record, idle, tell, || event).await;
        }
        Err(error) => {
            shared.listeners.tell(Some(&id), SessionEventKind::Failed(error.clone()));
            // Free the slot first: a caller that learns of the failure can try again.
            tenure.give_up(Ok(()));
            tell.send_replace(Some(Err(error)));
        }
    }
}

/// Makes a session of an existing sandbox, or disposes of the sandbox when it is no longer wanted.
pub(super) async fn settle(
    tenure: Tenure,
    placed: Launched,
    record: Option<Box<dyn OpenSession>>,
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
            tell.send_replace(Some(Err(Error::new(ErrorKind::Gone, why).hint("open it again by its id"))));
            live.end(end);
            ending::end(tenure, live, end).await;
        }
    }
}

/// Creates a sandbox of this manager, or opens one whose record is in a store.
async fn make_or_open(
    shared: &Arc<Shared>,
    id: &SessionId,
    wish: Wish,
) -> Result<(Launched, Option<Box<dyn OpenSession>>)> {
    let Some(store) = shared.settings.store.clone() else {
        return make(shared, id, wish.runtime, wish.idle).await.map(|placed| (placed, None));
    };
    let (launcher, request) =
        (Arc::clone(&shared.factory), OpenRequest { id: id.clone(), record: wish.record, idle: wish.idle });
    let opening = async move { store.open(request, launcher.as_ref()).await };
    let (placed, open) = isolated("starting the sandbox", shared.settings.start_deadline, opening).await?;
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
    creation::create(shared, LaunchRequest { session: Some(id.clone()), runtime, workspace, idle: Some(idle) }).await
}
