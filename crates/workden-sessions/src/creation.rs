//! Creates sandboxes, and removes what a failed creation left.
//!
//! Invariant: a sandbox that comes too late is disposed of.

use std::sync::Arc;

use workden_core::{ErrorKind, Result};

use crate::{
    LaunchRequest, Launched, SessionEventKind, SessionId, ending,
    isolated::{Isolated, isolated},
    table::Shared,
};

/// Creates a sandbox within the start deadline.
pub(super) async fn create(shared: &Arc<Shared>, order: LaunchRequest) -> Result<Launched> {
    let (factory, session) = (Arc::clone(&shared.factory), order.session.clone());
    let making = Isolated::begin("starting the sandbox", async move { factory.create(&order).await });
    let late_for = Arc::clone(shared);
    let made = making.within(shared.settings.start_deadline, |late| {
        tokio::spawn(async move {
            if let Some(placed) = late.answer().await {
                ending::dispose_and_tell(&late_for, placed).await;
            }
        });
    });
    let made = made.await;
    // A creation that panicked or timed out may have left a sandbox behind.
    if let (Err(error), Some(session)) = (&made, &session)
        && matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::Io)
    {
        sweep(shared, session).await;
    }
    made
}

/// Removes what is left of a session that did not start.
pub(super) async fn sweep(shared: &Arc<Shared>, session: &SessionId) {
    let (factory, most) = (Arc::clone(&shared.factory), shared.settings.stop_deadline);
    let found = isolated("looking for sandboxes", most, async move { factory.find().await }).await;
    for found in found.unwrap_or_default().into_iter().filter(|found| found.session.as_ref() == Some(session)) {
        if let Err(error) = ending::remove(shared, found.name.clone()).await {
            shared.listeners.tell(Some(session), SessionEventKind::Failed(error));
        }
    }
}
