//! Adopts or removes the sandboxes of an earlier manager that was killed, or that exited without ending them.
//!
//! Invariant: a sandbox of a current session, or one that is being created, is never taken for a left-over.

use std::sync::Arc;

use tokio::{sync::watch, task::JoinSet};
use workden_core::{Error, ErrorKind, Result};

use crate::{
    ExistingSandbox, SessionEventKind, SessionId, ending,
    isolated::isolated,
    live::Live,
    starting,
    table::{Installed, Phase, Shared, Slot, Table, Tenure},
};

/// What to do with the running sessions of an earlier manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopt {
    /// Adopt them.
    Running,
    /// Remove them like the rest.
    Nothing,
}

/// The outcome for the sandboxes of an earlier manager.
#[derive(Clone, Debug, Default)]
pub struct AdoptReport {
    /// The sessions that were adopted.
    pub adopted: Vec<SessionId>,
    /// The names of the sandboxes that were removed.
    pub removed: Vec<String>,
    /// The names of the sandboxes that could not be removed, each with its error.
    pub failed: Vec<(String, Error)>,
}

enum Became {
    Adopted(SessionId),
    Removed(String),
    Failed(String, Error),
    LeftAlone,
}

pub(super) async fn adopt_or_remove(shared: &Arc<Shared>, adopt: Adopt) -> Result<AdoptReport> {
    if let Some(store) = &shared.settings.store {
        if adopt == Adopt::Nothing {
            let sentence = "`Adopt::Nothing` is not supported with a store";
            return Err(Error::new(ErrorKind::Unsupported, sentence).hint("other processes may use the sessions"));
        }
        return Ok(AdoptReport { adopted: store.list().await?, ..AdoptReport::default() });
    }
    let spare_in_making = shared.table().has_spare_between();
    let (factory, most) = (Arc::clone(&shared.factory), shared.settings.start_deadline);
    let found = isolated("looking for sandboxes", most, async move { factory.find().await }).await?;
    let mut settling = JoinSet::new();
    for found in found {
        if found.session.is_none() && spare_in_making {
            // It may be the one that is being created or assigned.
            continue;
        }
        settling.spawn(settle(Arc::clone(shared), found, adopt));
    }
    let mut report = AdoptReport::default();
    while let Some(settled) = settling.join_next().await {
        match settled.unwrap_or(Became::LeftAlone) {
            Became::Adopted(session) => report.adopted.push(session),
            Became::Removed(name) => report.removed.push(name),
            Became::Failed(name, error) => report.failed.push((name, error)),
            Became::LeftAlone => {}
        }
    }
    report.adopted.sort();
    report.removed.sort();
    Ok(report)
}

async fn settle(shared: Arc<Shared>, found: ExistingSandbox, adopt: Adopt) -> Became {
    let (slot, tell) = Slot::starting(Installed::Unknown);
    let tenure = {
        let mut table = shared.table();
        if is_of_now(&table, &found) {
            return Became::LeftAlone;
        }
        match &found.session {
            // A second sandbox of a session that has one belongs to no session.
            Some(session) if found.running && adopt == Adopt::Running && !table.slots.contains_key(session) => {
                table.slots.insert(session.clone(), slot);
                Some(Tenure::new(&shared, session))
            }
            _ => None,
        }
    };
    match tenure {
        // In a separate task, like every start.
        Some(tenure) => tokio::spawn(connect(tenure, found, tell)).await.unwrap_or(Became::LeftAlone),
        None => remove(&shared, found).await,
    }
}

async fn connect(tenure: Tenure, found: ExistingSandbox, tell: watch::Sender<Option<Result<Arc<Live>>>>) -> Became {
    let (shared, id) = (Arc::clone(&tenure.shared), tenure.id().clone());
    let (most, idle) = (shared.settings.start_deadline, shared.settings.idle);
    let (factory, from_before, outcome) = (Arc::clone(&shared.factory), found.clone(), tell.subscribe());
    let adopted = isolated("adopting the sandbox", most, async move { factory.adopt(&from_before).await }).await;
    match adopted {
        Ok(placed) => {
            starting::settle(tenure, placed, None, idle, tell, || SessionEventKind::Adopted).await;
            let goes_on = matches!(&*outcome.borrow(), Some(Ok(_)));
            if goes_on { Became::Adopted(id) } else { Became::LeftAlone }
        }
        Err(error) => {
            // Remove it before the slot is freed, so that no caller starts another sandbox of that name meanwhile.
            let became = remove(&shared, found).await;
            tenure.give_up(Ok(()));
            tell.send_replace(Some(Err(error)));
            became
        }
    }
}

async fn remove(shared: &Arc<Shared>, found: ExistingSandbox) -> Became {
    match ending::remove(shared, found.name.clone()).await {
        Ok(()) => {
            shared.listeners.tell(found.session.as_ref(), SessionEventKind::Removed(found.name.clone()));
            Became::Removed(found.name)
        }
        Err(error) => {
            shared.listeners.tell(found.session.as_ref(), SessionEventKind::Failed(error.clone()));
            Became::Failed(found.name, error)
        }
    }
}

/// Whether it belongs to a current session, or may: a session that starts or ends has no sandbox name in the table.
fn is_of_now(table: &Table, found: &ExistingSandbox) -> bool {
    let of_session = found.session.as_ref().and_then(|session| table.slots.get(session));
    let between = of_session.is_some_and(|slot| !matches!(slot.phase, Phase::Ready(_)));
    let named = |slot: &Slot| matches!(&slot.phase, Phase::Ready(live) if live.placed.name == found.name);
    let spare = found.session.is_none() && table.has_spare_between();
    between || spare || table.slots.values().any(named) || table.spares.iter().any(|spare| spare.name == found.name)
}
