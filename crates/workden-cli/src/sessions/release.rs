//! `workden sessions release`: ends sessions one after the other, and reports each.
//!
//! Invariant: a session that cannot be ended does not keep the others running.

use std::io::Write;

use workden::{SessionId, UserSessions};

use super::user_sessions;
use crate::failure::{Failure, request};

/// Which sessions end.
pub(super) enum Which<'a> {
    All,
    Named(&'a [SessionId]),
}

/// What becomes of the files of a session.
#[derive(Clone, Copy)]
pub(super) enum Files {
    Keep,
    Remove,
}

pub(super) async fn run(which: Which<'_>, files: Files) -> Result<(), Failure> {
    let sessions = user_sessions().map_err(request)?;
    let all = match which {
        Which::All => sessions.store().ids().map_err(request)?,
        Which::Named(ids) => ids.to_vec(),
    };
    if all.is_empty() {
        return writeln!(anstream::stdout().lock(), "There are no sessions.").map_err(Failure::Output);
    }
    let with_files = match files {
        Files::Keep => "",
        Files::Remove => ", and removed its files",
    };
    let (mut missing, mut failed) = (Vec::new(), Vec::new());
    for id in &all {
        match release(&sessions, id, files).await {
            Ok(true) => writeln!(anstream::stdout().lock(), "released {id}{with_files}").map_err(Failure::Output)?,
            Ok(false) => missing.push(format!("`{id}`")),
            Err(error) => failed.push(format!("cannot end the session `{id}`: {error}")),
        }
    }
    if !missing.is_empty() {
        failed.push(format!("session {} not found", missing.join(", ")));
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::Request(failed.join("\n       "))),
    }
}

/// Ends a session, and returns whether there was one.
async fn release(sessions: &UserSessions, id: &SessionId, files: Files) -> workden::Result<bool> {
    let managers = sessions.managers(id).await?;
    if let Some(error) = &managers.missing {
        let note = format!("note: a container of `{id}` stays until its idle time is over: {}", error.sentence());
        let _ = writeln!(anstream::stderr(), "{note}");
    }
    let mut released = false;
    for manager in &managers.all {
        released |= match files {
            Files::Keep => manager.release(id).await?,
            Files::Remove => manager.release_with_files(id).await?,
        };
    }
    Ok(released)
}
