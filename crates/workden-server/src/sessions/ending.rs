//! Ends sessions: with their files, or paused, so that the files stay.

use serde_json::json;
use workden::{Error, ErrorKind, Result, SessionId};

use super::{AtSessionEnd, NewSession};
use crate::{
    database::SessionRow,
    identity::Principal,
    service::{Answer, Service},
};

impl Service {
    /// Deletes a session with its processes and files.
    pub(crate) async fn delete_session(&self, principal: &Principal, id: &str) -> Answer<()> {
        let row = self.session_row(principal, id).await?;
        let recorder = self.recorder(&row.id, &row.tenant, principal);
        // Whichever state it is in, only its removal comes next.
        for state in ["running", "paused"] {
            if self.database.move_session(&row.id, state, "ending").await? {
                recorder.tell("session_deleted", &json!({}));
            }
        }
        Ok(self.end_session(&row).await?)
    }

    /// Pauses a session: its processes end, and its files stay. Returns whether it was running.
    pub(crate) async fn pause_session(&self, principal: &Principal, id: &str) -> Answer<bool> {
        principal.require_tenant()?;
        let row = self.session_row(principal, id).await?;
        self.close_session(principal, &row).await
    }

    /// Ends the processes of a session, whose files stay. Returns whether it was running.
    pub(crate) async fn close_session(&self, principal: &Principal, row: &SessionRow) -> Answer<bool> {
        self.refuse_pause(row)?;
        if !self.database.move_session(&row.id, "running", "paused").await? {
            return Ok(false);
        }
        self.recorder(&row.id, &row.tenant, principal).tell("session_paused", &json!({}));
        self.release(row, Files::Stay).await?;
        Ok(true)
    }

    /// Refuses to pause a session whose files are in its sandbox.
    fn refuse_pause(&self, row: &SessionRow) -> Result<()> {
        let id: SessionId = row.id.parse()?;
        match self.sandboxes.store().record(&id)? {
            Some(record) if !record.has_directory() => {
                Err(Error::new(ErrorKind::Unsupported, format!("`pause` is not supported with `{}`", record.kind))
                    .hint("its files are in the sandbox: download them, and delete the session"))
            }
            _ => Ok(()),
        }
    }

    /// Ends a session whose time is over, as its request says.
    pub(super) async fn expire_session(&self, row: &SessionRow) -> Result<()> {
        let new: NewSession = serde_json::from_str(&row.spec).unwrap_or_default();
        if new.at_end == AtSessionEnd::Pause && self.refuse_pause(row).is_ok() {
            self.release(row, Files::Stay).await?;
            self.database.move_session(&row.id, "ending", "paused").await?;
            return Ok(());
        }
        self.end_session(row).await
    }

    /// Ends the sandbox of a session, removes its files, and then its row: a failure is tried again by the sweeper.
    pub(super) async fn end_session(&self, row: &SessionRow) -> Result<()> {
        self.release(row, Files::Go).await?;
        self.events.settle().await;
        self.database.remove_session(&row.id).await.map(drop)
    }

    async fn release(&self, row: &SessionRow, files: Files) -> Result<()> {
        self.let_go(&row.id);
        let id: SessionId = row.id.parse()?;
        for manager in &self.sandboxes.managers(&id).await?.all {
            match files {
                Files::Stay => manager.release(&id).await?,
                Files::Go => manager.release_with_files(&id).await?,
            };
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Files {
    Stay,
    Go,
}
