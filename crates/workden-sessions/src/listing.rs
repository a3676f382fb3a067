//! Lists the sessions of a manager.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::task::JoinSet;
use workden_core::sandbox::Usage;

use crate::{
    SessionId,
    isolated::isolated,
    table::{Installed, Phase, Shared},
};

/// A snapshot of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// Its id.
    pub id: SessionId,
    /// Its state.
    pub state: SessionState,
    /// The name of its runtime, if it has one and that is known.
    pub runtime: Option<String>,
    /// The launcher's name for its sandbox, once it is ready.
    pub name: Option<String>,
    /// How long it has been in the list.
    pub age: Duration,
    /// How long it has been idle.
    pub idle: Duration,
    /// Calls in progress, and processes whose output is being read.
    pub in_use: usize,
    /// Its usage, if that was requested and the sandbox answered in time.
    pub usage: Option<Usage>,
}

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// It is being created.
    Starting,
    /// It can be used.
    Ready,
    /// It is being ended.
    Stopping,
}

pub(super) fn sessions(shared: &Shared) -> Vec<SessionInfo> {
    let table = shared.table();
    let info = |(id, slot): (&SessionId, &crate::table::Slot)| {
        let runtime = match &slot.installed {
            Installed::Known(runtime) => runtime.as_ref().map(|runtime| runtime.name.clone()),
            Installed::Unknown => None,
        };
        let age = slot.since.elapsed();
        let (state, name, in_use, idle) = match &slot.phase {
            Phase::Starting { .. } => (SessionState::Starting, None, 0, Duration::ZERO),
            Phase::Stopping => (SessionState::Stopping, None, 0, Duration::ZERO),
            Phase::Ready(live) => {
                let (in_use, idle) = live.use_now();
                (SessionState::Ready, Some(live.placed.name.clone()), in_use, idle)
            }
        };
        SessionInfo { id: id.clone(), state, runtime, name, age, idle, in_use, usage: None }
    };
    table.slots.iter().map(info).collect()
}

pub(super) async fn with_usage(shared: &Shared, deadline: Duration) -> Vec<SessionInfo> {
    let mut asking = JoinSet::new();
    for live in shared.ready() {
        let sandbox = Arc::clone(&live.placed.sandbox);
        asking.spawn(async move {
            let usage = isolated("the sandbox", deadline, async move { sandbox.usage().await });
            (live.id.clone(), usage.await.ok())
        });
    }
    let mut usages = BTreeMap::new();
    while let Some(asked) = asking.join_next().await {
        usages.extend(asked);
    }
    let mut all = sessions(shared);
    for info in all.iter_mut().filter(|info| info.state == SessionState::Ready) {
        info.usage = usages.remove(&info.id).flatten();
    }
    all
}
