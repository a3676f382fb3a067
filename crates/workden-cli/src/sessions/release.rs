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
        // A record that nobody understands says no kind: it is one of a Linux sandbox, or has none.
        let kind = kept.sessions.record(id).ok().flatten().map_or_else(String::new, |record| record.kind);
        let factory = kept.finder(&kind).map_err(request)?;
        match kept.sessions.release(id, factory.as_ref(), files).await.map_err(request)? {
            Ended::Now | Ended::InUse => {
                writeln!(anstream::stdout().lock(), "released {id}").map_err(Failure::Output)?;
            }
            Ended::NotThere => missing.push(format!("`{id}`")),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::Request(format!("there is no session {}", missing.join(", "))))
}
