//! Spare sandboxes: created in advance, and assigned to the first session that fits.
//!
//! Invariant: one is created at a time, the pause after a failure doubles, and after a shutdown there are none: one
//! that is created late is disposed of.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use workden_core::{Error, ErrorKind, Result};

use crate::{
    LaunchRequest, Launched, SessionEventKind, SessionId, creation, ending, isolated::isolated, table::Shared,
};

/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How often a shutdown checks whether the last one has been created.
const LOOK: Duration = Duration::from_millis(10);

/// Creates spare sandboxes whenever there are too few, until the manager is dropped.
pub(super) async fn keep_filled(shared: Weak<Shared>) {
    let mut pause = FIRST_PAUSE;
    while let Some(shared) = shared.upgrade() {
        let lacking = {
            let mut table = shared.table();
            if table.closed {
                return;
            }
            table.spare_in_making = table.spares.len() < shared.settings.spares;
            table.spare_in_making
        };
        if !lacking {
            shared.spare_wanted.notified().await;
            continue;
        }
        match make_one(&shared).await {
            Ok(()) => pause = FIRST_PAUSE,
            Err(error) => {
                shared.listeners.tell(None, SessionEventKind::Failed(error));
                drop(shared);
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

async fn make_one(shared: &Arc<Shared>) -> Result<()> {
    let runtime = shared.settings.default_runtime.clone();
    let order = LaunchRequest { session: None, runtime, workspace: None, idle: Some(shared.settings.idle) };
    let made = creation::create(shared, order).await;
    let unwanted = {
        let mut table = shared.table();
        match made {
            Ok(placed) if table.closed => placed,
            made => {
                table.spare_in_making = false;
                return made.map(|placed| table.spares.push(placed));
            }
        }
    };
    ending::dispose_and_tell(shared, unwanted).await;
    shared.table().spare_in_making = false;
    Ok(())
}

/// Assigns a spare sandbox to a session, if there is one and it is alive. Tries only one: the next may fail as well,
/// for as long as new ones are created.
pub(super) async fn take(shared: &Arc<Shared>, session: &SessionId) -> Option<Launched> {
    let spare = {
        let mut table = shared.table();
        let spare = table.spares.pop()?;
        table.spares_in_giving += 1;
        spare
    };
    shared.spare_wanted.notify_one();
    let given = give(shared, &spare, session).await;
    shared.table().spares_in_giving -= 1;
    match given {
        Ok(placed) => Some(placed),
        Err(error) => {
            shared.listeners.tell(None, SessionEventKind::Failed(error));
            ending::dispose_and_tell(shared, spare).await;
            // It may already have its new name.
            creation::sweep(shared, session).await;
            None
        }
    }
}

async fn give(shared: &Arc<Shared>, spare: &Launched, session: &SessionId) -> Result<Launched> {
    let sandbox = Arc::clone(&spare.sandbox);
    isolated("the spare sandbox", shared.settings.answer_deadline, async move { sandbox.usage().await }).await?;
    let (factory, spare, session) = (Arc::clone(&shared.factory), spare.clone(), session.clone());
    let most = shared.settings.start_deadline;
    isolated("assigning a spare sandbox", most, async move { factory.assign(spare, &session).await }).await
}

/// Waits until no spare sandbox is being created.
pub(super) async fn none_in_making(shared: &Arc<Shared>, until: Instant) -> Result<()> {
    while shared.table().spare_in_making {
        if Instant::now() >= until {
            let why = "a spare sandbox is still being created; it is removed when it is ready";
            return Err(Error::new(ErrorKind::TimedOut, why));
        }
        sleep(LOOK).await;
    }
    Ok(())
}
