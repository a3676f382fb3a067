//! Races of sessions, with a factory that does what it is told and a clock that waits for nobody.

mod adopting;
mod ending;
mod idle;
mod opening;
mod scripted;
mod spares;

use std::{sync::Arc, time::Duration};

use tokio::task::JoinHandle;
use workden_core::Result;

use crate::{
    Session, SessionEventKind, SessionId, SessionManager, SessionState,
    tests::scripted::{Does, Scripted},
};

/// Long enough for everything that waits for nothing.
const MOMENT: Duration = Duration::from_millis(5);
const SECOND: Duration = Duration::from_secs(1);

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

async fn manager(factory: &Scripted) -> Arc<SessionManager> {
    Arc::new(SessionManager::builder(factory.clone()).start().await.unwrap())
}

/// Somebody who asks for a session, in a task of their own that has begun to wait.
async fn asks(manager: &Arc<SessionManager>, whose: &str) -> JoinHandle<Result<Session>> {
    let (manager, id) = (Arc::clone(manager), id(whose));
    let asking = tokio::spawn(async move { manager.get_or_create(&id, None).await });
    moment().await;
    asking
}

async fn moment() {
    tokio::time::sleep(MOMENT).await;
}

fn states(manager: &SessionManager) -> Vec<(String, SessionState)> {
    manager.sessions().into_iter().map(|info| (info.id.to_string(), info.state)).collect()
}
