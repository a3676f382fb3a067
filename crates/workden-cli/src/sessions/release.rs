//! `workden sessions release`: ends sessions one after the other, and reports each.

use std::io::Write;

use workden::SessionId;

use super::user_sessions;
use crate::failure::{Failure, request};

pub(super) async fn run(ids: &[SessionId], purge: bool) -> Result<(), Failure> {
    let sessions = user_sessions().map_err(request)?;
    let mut missing = Vec::new();
    for id in ids {
        let managers = sessions.managers(id).await.map_err(request)?;
        if let Some(error) = &managers.missing {
            let note = format!("note: a container of `{id}` stays until its idle time is over: {}", error.sentence());
            let _ = writeln!(anstream::stderr(), "{note}");
        }
        let mut released = false;
        for manager in &managers.all {
            let ended = if purge { manager.release_with_files(id).await } else { manager.release(id).await };
            released |= ended.map_err(request)?;
        }
        match released {
            true => writeln!(anstream::stdout().lock(), "released {id}").map_err(Failure::Output)?,
            false => missing.push(format!("`{id}`")),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Request(format!("session {} not found", missing.join(", "))))
}
