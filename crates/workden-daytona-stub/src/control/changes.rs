//! Changes of state. Each returns at once, and a task does the rest, as with Daytona: clients poll.
//!
//! Invariant: while a sandbox changes, no other change starts; the answer is 409.

use std::{sync::Arc, time::Duration};

use super::{Record, record::State};
use crate::{
    answer::{Answered, Refused, ok},
    faults::FaultKind,
    place::Place,
    shared::Shared,
};

/// Starts a sandbox whose state says already that it starts.
pub(super) fn begin_start(shared: &Arc<Shared>, record: &Arc<Record>, fault: Option<FaultKind>) {
    let (shared, record) = (Arc::clone(shared), Arc::clone(record));
    tokio::spawn(async move {
        let mut delay = shared.options.start_delay;
        if let Some(FaultKind::SlowStart { milliseconds }) = fault {
            delay += Duration::from_millis(milliseconds);
        }
        tokio::time::sleep(delay).await;
        let reason = match fault {
            Some(FaultKind::EndsInError { reason }) => reason,
            _ => match record.plan.start().await {
                Ok(place) => return record.started(place),
                Err(error) => error.to_string(),
            },
        };
        let _ = record.change(|state| match state.is_changing() {
            true => Ok(State::Error(reason)),
            false => Err(()),
        });
    });
}

pub(super) fn start(shared: &Arc<Shared>, record: &Arc<Record>, fault: Option<FaultKind>) -> Answered {
    if record.state() == State::Started {
        return ok(&record.shown());
    }
    record.change(|state| match state {
        State::Stopped => Ok(State::Starting),
        State::Archived => Ok(State::Restoring),
        other => Err(in_change(other, "start")),
    })?;
    begin_start(shared, record, fault);
    ok(&record.shown())
}

/// Starts a sandbox that failed.
pub(super) fn recover(shared: &Arc<Shared>, record: &Arc<Record>, fault: Option<FaultKind>) -> Answered {
    record.change(|state| match state {
        State::Error(_) => Ok(State::Starting),
        other => Err(in_change(other, "recover")),
    })?;
    begin_start(shared, record, fault);
    ok(&record.shown())
}

pub(super) fn stop(shared: &Arc<Shared>, record: &Arc<Record>) -> Answered {
    let place = record.change(|state| match state {
        State::Started => Ok(State::Stopping),
        other => Err(in_change(other, "stop")),
    })?;
    end(shared, record, place, State::Stopped);
    ok(&record.shown())
}

pub(super) fn archive(shared: &Arc<Shared>, record: &Arc<Record>) -> Answered {
    let place = record.change(|state| match state {
        State::Stopped => Ok(State::Archiving),
        other => Err(in_change(other, "archive")),
    })?;
    end(shared, record, place, State::Archived);
    ok(&record.shown())
}

pub(super) fn delete(shared: &Arc<Shared>, record: &Arc<Record>) -> Answered {
    let place = record.change(|state| match state {
        changing if changing.is_changing() => Err(in_change(changing, "delete")),
        _ => Ok(State::Destroying),
    })?;
    end(shared, record, place, State::Destroyed);
    ok(&record.shown())
}

/// Ends what runs, and then sets the state. A destroyed sandbox is forgotten.
fn end(shared: &Arc<Shared>, record: &Arc<Record>, place: Option<Arc<Place>>, then: State) {
    let (shared, record) = (Arc::clone(shared), Arc::clone(record));
    tokio::spawn(async move {
        tokio::time::sleep(shared.options.change_delay).await;
        if let Some(place) = place {
            place.stop().await;
        }
        if then == State::Destroyed {
            shared.records().retain(|other| other.id != record.id);
            // Files that cannot be removed now go with the directory of the stub.
            let _ = std::fs::remove_dir_all(&record.plan.root);
        }
        let _ = record.change(|_| Ok::<_, ()>(then));
    });
}

/// A state in which a call is not possible: 409 while it changes, 400 when it must be changed first.
fn in_change(state: &State, call: &str) -> Refused {
    if state.is_changing() {
        return Refused::conflict("Sandbox state change in progress");
    }
    Refused::invalid(format!("cannot {call} a sandbox in state `{}`", state.name()))
}
