//! Races of sessions, with a scripted launcher and a paused clock.

mod adopting;
mod ending;
mod idle;
mod opening;
mod scripted;
mod spares;
mod stored;

use std::{sync::Arc, time::Duration};

use tokio::task::JoinHandle;
use workden_core::Result;

use crate::{
    Session, SessionEventKind, SessionId, SessionManager, SessionState,
    tests::scripted::{Does, Scripted},
};

/// Long enough for every task that does not wait for a timer.
const MOMENT: Duration = Duration::from_millis(5);
const SECOND: Duration = Duration::from_secs(1);

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

async fn manager(factory: &Scripted) -> Arc<SessionManager> {
    Arc::new(SessionManager::builder(factory.clone()).start().await.unwrap())
}

/// Asks for a session in a task that has started to wait.
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
