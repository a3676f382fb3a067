//! Ends kept sessions that are idle, and removes sandboxes without a record.
//!
//! Invariant: a session is ended only under its lock, from its state at that moment. One that a process creates, ends
//! or uses is left alone, without waiting for it.

use std::time::Duration;

use workden_core::{Error, ErrorKind, Result, Sandbox};

use super::{
    Pruned, Pruning, SessionFiles, SessionStore,
    directory_store::{DirectoryStore, MAKING, PATIENCE, RECORD, USED},
    locks::Lock,
};
use crate::{ExistingSandbox, Launcher, SessionId};

/// The minimum age of a stopped sandbox without a record: a younger one may be about to start.
const ABANDONED: Duration = Duration::from_secs(600);

impl DirectoryStore {
    /// Ends a session that has exited, cannot be used again, or has been idle for `most`.
    pub(super) async fn prune_one(
        &self,
        id: &SessionId,
        launcher: &dyn Launcher,
        most: Duration,
        doing: Pruning,
    ) -> Result<Pruned> {
        let Some(making) = self.lock_now(id)? else { return Ok(Pruned::Stays) };
        let Some(text) = self.text(id)? else {
            making.remove();
            return Ok(Pruned::Stays);
        };
        let Some(used) = Lock::alone_now(&self.file(id, USED))? else { return Ok(Pruned::Stays) };
        let pruned = if Self::parsed(id, &text).is_err() {
            Pruned::Damaged
        } else {
            let jobs = tokio::time::timeout(PATIENCE, self.jobs(id, launcher)).await;
            match jobs.unwrap_or_else(|_| Err(silent(id)))? {
                None => Pruned::HadEnded,
                Some(0) if used.age() >= most => Pruned::Idle(used.age()),
                Some(_) => return Ok(Pruned::Stays),
            }
        };
        if doing == Pruning::Remove {
            self.end(id, launcher, SessionFiles::Stay, making).await?;
        }
        Ok(pruned)
    }

    /// Removes sandboxes that do not run and have no record. Returns how many there were.
    pub(super) async fn prune_others(&self, launcher: &dyn Launcher, doing: Pruning) -> Result<usize> {
        let mut removed = 0;
        for found in launcher.find().await?.into_iter().filter(is_dead) {
            let mut making = None;
            if let Some(id) = &found.session {
                making = self.lock_now(id)?;
                if making.is_none() || self.file(id, RECORD).symlink_metadata().is_ok() {
                    continue;
                }
            }
            // It may have been removed and created again before the lock was taken.
            let is_there = launcher.find().await?.iter().any(|again| again.name == found.name && is_dead(again));
            if is_there && doing == Pruning::Remove {
                launcher.remove(&found.name).await?;
            }
            removed += usize::from(is_there);
            making.into_iter().for_each(Lock::remove);
        }
        Ok(removed)
    }

    /// Returns how many jobs a session has; `None` when it does not run.
    async fn jobs(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<Option<u64>> {
        match self.look(id, launcher).await? {
            Some(placed) => placed.sandbox.usage().await.map(|usage| Some(usage.jobs)),
            None => Ok(None),
        }
    }

    /// Takes the lock of a session, if it is free.
    pub(super) fn lock_now(&self, id: &SessionId) -> Result<Option<Lock>> {
        self.prepare()?;
        Lock::alone_now(&self.file(id, MAKING))
    }
}

fn is_dead(found: &ExistingSandbox) -> bool {
    !found.running && found.age.is_none_or(|age| age > ABANDONED)
}

pub(super) fn silent(id: &SessionId) -> Error {
    Error::new(ErrorKind::TimedOut, format!("the session `{id}` has not answered for {} s", PATIENCE.as_secs()))
        .hint(format!("`workden sessions release {id}` ends it"))
}
