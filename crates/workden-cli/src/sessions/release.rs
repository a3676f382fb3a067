//! `workden sessions release`: ends sessions, one after the other, and says what became of each.

use std::io::Write;

use workden_sandboxes::sessions::{Ended, KeptFiles, SessionId};

use super::Kept;
use crate::{failure::Failure, place::request};

pub(super) async fn run(ids: &[SessionId], purge: bool) -> Result<(), Failure> {
    let kept = Kept::of_user().map_err(request)?;
    let files = if purge { KeptFiles::Go } else { KeptFiles::Stay };
    let mut missing = Vec::new();
    for id in ids {
        let finders = kept.finders(id).await.map_err(request)?;
        if let Some(error) = &finders.missing {
            let note = format!("note: if `{id}` had a container, it is left until it is idle: {}", error.sentence());
            let _ = writeln!(anstream::stderr(), "{note}");
        }
        match kept.sessions.release(id, &finders.all, files).await.map_err(request)? {
            Ended::Now => writeln!(anstream::stdout().lock(), "released {id}").map_err(Failure::Output)?,
            Ended::NotThere => missing.push(format!("`{id}`")),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Request(format!("there is no session {}", missing.join(", "))))
}
