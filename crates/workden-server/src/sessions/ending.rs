//! Ends sessions: with their files, or paused, so that the files stay, for as long as the configuration says.

use serde_json::json;
use workden::{Error, ErrorKind, Result, SessionId, SessionPlace};

use super::{AtSessionEnd, NewSession, sweeper::CLAIM};
use crate::{
    clock::Moment,
    database::SessionRow,
    identity::Principal,
    service::{Answer, Service},
};

impl Service {
    /// Deletes a session with its processes and files.
    pub(crate) async fn delete_session(&self, principal: &Principal, id: &str) -> Answer<()> {
        let row = self.session_row(principal, id).await?;
        let recorder = self.recorder(&row.id, &row.tenant, principal);
        let claim = if self.require_here(&row).is_ok() { Moment::now().after(CLAIM) } else { Moment(0) };
        // Whichever state it is in, only its removal comes next.
        for state in ["running", "paused"] {
            if self.database.begin_deletion(&row.id, state, claim).await? {
                recorder.tell("session_deleted", &json!({}));
            }
        }
        match self.require_here(&row) {
            Ok(()) => Ok(self.end_session(&row).await?),
            // The sweeper there goes on.
            Err(_) => Ok(()),
        }
    }

    /// Pauses a session: its processes end, and its files stay. Returns whether it was running.
    pub(crate) async fn pause_session(&self, principal: &Principal, id: &str) -> Answer<bool> {
        principal.require_tenant()?;
        let row = self.session_row(principal, id).await?;
        self.close_session(principal, &row).await
    }

    /// Ends the processes of a session, whose files stay. Returns whether it was running.
    pub(crate) async fn close_session(&self, principal: &Principal, row: &SessionRow) -> Answer<bool> {
        self.require_here(row)?;
        self.refuse_pause(row)?;
        if !self.database.pause_session(&row.id, "running", self.kept_until()).await? {
            return Ok(false);
        }
        self.recorder(&row.id, &row.tenant, principal).tell("session_paused", &json!({}));
        self.release(row, Files::Stay).await?;
        Ok(true)
    }

    /// Whether the files of a session end with its sandbox.
    pub(super) fn has_files_in_sandbox(&self, row: &SessionRow) -> Result<bool> {
        let id: SessionId = row.id.parse()?;
        Ok(match self.sandboxes.store().record(&id)? {
            Some(record) => !record.has_directory(),
            // Started on another machine.
            None => row.place.is_empty(),
        })
    }

    /// Refuses to pause a session whose files are in its sandbox.
    fn refuse_pause(&self, row: &SessionRow) -> Result<()> {
        match self.has_files_in_sandbox(row)? {
            true => {
                let sentence = format!("`pause` is not supported with the runtime `{}`", row.runtime);
                Err(Error::new(ErrorKind::Unsupported, sentence)
                    .hint("its files are in the sandbox: download them, and delete the session"))
            }
            false => Ok(()),
        }
    }

    /// Ends a session whose time is over, as its request says. Its files stay for a time if the configuration says so.
    pub(super) async fn expire_session(&self, row: &SessionRow) -> Result<()> {
        if row.is_spare() {
            return self.end_session(row).await;
        }
        let new: NewSession = serde_json::from_str(&row.spec).unwrap_or_default();
        // One that was paused or is being deleted has had its time.
        let stays = row.kept_until.is_none() && (new.at_end == AtSessionEnd::Pause || self.kept_until().is_some());
        if stays && self.refuse_pause(row).is_ok() {
            self.release(row, Files::Stay).await?;
            self.database.pause_session(&row.id, "ending", self.kept_until()).await?;
            return Ok(());
        }
        self.end_session(row).await
    }

    /// Returns until when the files of a session that ends now stay. `None`: as long as the session does.
    fn kept_until(&self) -> Option<Moment> {
        let time = self.config().workspace_ttl();
        (!time.is_zero()).then(|| Moment::now().after(time))
    }

    /// Ends the sandbox of a session, removes its files, and then its row: a failure is tried again by the sweeper.
    pub(super) async fn end_session(&self, row: &SessionRow) -> Result<()> {
        self.release(row, Files::Go).await?;
        self.events.settle().await?;
        self.database.remove_session(&row.id).await.map(drop)
    }

    pub(super) async fn release(&self, row: &SessionRow, files: Files) -> Result<()> {
        self.let_go(&row.id);
        let id: SessionId = row.id.parse()?;
        // A pod may have been started by a process on another machine, which has its record.
        let managers = match self.sandboxes.store().record(&id)? {
            None if row.place.is_empty() => {
                let new: NewSession = serde_json::from_str(&row.spec).unwrap_or_default();
                let record = self.planned(&id, &new).await.map_err(|error| error.error)?;
                vec![self.sandboxes.manager(&SessionPlace::of(&record)).await?]
            }
            _ => self.sandboxes.managers(&id).await?.all,
        };
        for manager in &managers {
            match files {
                Files::Stay => manager.release(&id).await?,
                Files::Go => manager.release_with_files(&id).await?,
            };
        }
        Ok(())
    }
}

/// What becomes of the files of a session when its sandbox ends.
#[derive(Clone, Copy)]
pub(super) enum Files {
    Stay,
    Go,
}
