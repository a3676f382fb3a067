//! Ending kept sessions that nobody uses, and removing what is left of those that no record speaks of.
//!
//! Invariant: whether one ends is decided by whoever holds its lock, from what is there then. One that somebody makes,
//! ends or uses at that moment is left alone, and nobody is waited for.

use std::time::Duration;

use workden_core::{Error, ErrorKind, Result, Sandbox};

use super::{DirectoryStore, MAKING, RECORD, SessionFiles, USED, locks::Lock};
use crate::{ExistingSandbox, Launcher, SessionId};

/// How long a session has to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How old a sandbox that does not run and that no record speaks of has to be: a younger one may be about to start.
const ABANDONED: Duration = Duration::from_secs(600);

/// Whether anything is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// What nobody uses ends.
    Remove,
    /// Nothing is done.
    Look,
}

/// What became of a session that ends if nobody uses it; of [`Pruning::Look`], what would become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruned {
    /// It goes on, or there was none.
    Stays,
    /// It had ended by itself.
    HadEnded,
    /// Its record could not be understood, so that nobody could have used it again.
    Damaged,
    /// Nobody had used it for so long.
    Idle(Duration),
}

impl DirectoryStore {
    /// Ends a session that has ended by itself, that cannot be used again, or that nobody has used for `most`. Its
    /// files stay.
    ///
    /// # Errors
    ///
    /// `TimedOut` when it does not answer, and what went wrong otherwise: it goes on then.
    pub(crate) async fn prune(
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

    /// Removes sandboxes that do not run and that no record speaks of. How many there were.
    ///
    /// # Errors
    ///
    /// What the factory says.
    pub(crate) async fn prune_unknown(&self, launcher: &dyn Launcher, doing: Pruning) -> Result<usize> {
        let mut removed = 0;
        for found in launcher.find().await?.into_iter().filter(is_dead) {
            let mut making = None;
            if let Some(id) = &found.session {
                making = self.lock_now(id)?;
                if making.is_none() || self.file(id, RECORD).symlink_metadata().is_ok() {
                    continue;
                }
            }
            // It may have been removed, and made again, before the lock was there.
            let is_there = launcher.find().await?.iter().any(|again| again.name == found.name && is_dead(again));
            if is_there && doing == Pruning::Remove {
                launcher.remove(&found.name).await?;
            }
            removed += usize::from(is_there);
            making.into_iter().for_each(Lock::remove);
        }
        Ok(removed)
    }

    /// How many jobs a session has; `None` when it does not run.
    async fn jobs(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<Option<u64>> {
        match self.look(id, launcher).await? {
            Some(placed) => placed.sandbox.usage().await.map(|usage| Some(usage.jobs)),
            None => Ok(None),
        }
    }

    /// The lock of a session, if nobody has it.
    fn lock_now(&self, id: &SessionId) -> Result<Option<Lock>> {
        self.prepare()?;
        Lock::alone_now(&self.file(id, MAKING))
    }
}

fn is_dead(found: &ExistingSandbox) -> bool {
    !found.running && found.age.is_none_or(|age| age > ABANDONED)
}

fn silent(id: &SessionId) -> Error {
    Error::new(ErrorKind::TimedOut, format!("the session `{id}` has not answered for {} s", PATIENCE.as_secs()))
        .hint(format!("`workden sessions release {id}` ends it"))
}
