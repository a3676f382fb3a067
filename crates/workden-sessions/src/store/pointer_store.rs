//! `PointerStore`: a user's own list of sessions whose records are in a cluster. The directory of the user says with
//! which options and in which cluster a session was opened; whether it exists, and whether it is idle, only the cluster
//! knows.
//!
//! Invariant: a session is ended by what the cluster says about it, never by this machine: another one may use it.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result, Sandbox};

use super::{
    ClusterStore, DirectoryStore, Ended, Leaving, Left, OpenRequest, OpenSession, Opened, Pruned, Pruning,
    SessionFiles, SessionRecord, SessionStore,
    directory_store::{PATIENCE, RECORD, USED},
    locks::Lock,
    pruning::silent,
};
use crate::{Launched, Launcher, SessionId};

/// A list of sessions in a directory, whose records are in a cluster.
#[derive(Clone, Debug)]
pub struct PointerStore {
    pointers: DirectoryStore,
    cluster: ClusterStore,
}

impl PointerStore {
    /// Lists in this directory the sessions that are opened in this cluster.
    #[must_use]
    pub fn new(pointers: DirectoryStore, cluster: ClusterStore) -> Self {
        Self { pointers, cluster }
    }

    fn forget(&self, id: &SessionId, making: Lock) {
        for what in [RECORD, USED] {
            let _ = std::fs::remove_file(self.pointers.file(id, what));
        }
        making.remove();
    }

    /// Returns how many jobs a session has; `None` when it does not run.
    async fn jobs(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<Option<u64>> {
        match self.cluster.look(id, launcher).await? {
            Some(placed) => placed.sandbox.usage().await.map(|usage| Some(usage.jobs)),
            None => Ok(None),
        }
    }
}

#[async_trait]
impl SessionStore for PointerStore {
    async fn open(&self, request: OpenRequest, launcher: &dyn Launcher) -> Result<(Launched, Box<dyn OpenSession>)> {
        let id = request.id.clone();
        let _making = self.pointers.lock(&id).await?;
        let there = self.pointers.record(&id)?;
        let missing = || Error::new(ErrorKind::NotFound, format!("session `{id}` not found"));
        let wanted = request.record.clone().or_else(|| there.clone()).ok_or_else(missing)?;
        if let Some(there) = &there {
            there.fits(&id, &wanted)?;
        }
        let is_new = there.is_none();
        let record = there.unwrap_or(wanted);
        let used = self.pointers.use_now(&id)?;
        self.pointers.write(&id, &record)?;
        match self.cluster.open(OpenRequest { record: None, ..request }, launcher).await {
            Ok((placed, open)) => {
                Ok((placed, Box::new(OpenPointedSession { store: self.clone(), id, open, record, used })))
            }
            Err(error) => {
                // Keep the pointer to an existing session: it may start next time.
                if is_new {
                    let _ = std::fs::remove_file(self.pointers.file(&id, RECORD));
                    used.remove();
                }
                Err(error)
            }
        }
    }

    async fn look(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<Option<Launched>> {
        self.cluster.look(id, launcher).await
    }

    async fn release(&self, id: &SessionId, launcher: &dyn Launcher, files: SessionFiles) -> Result<Ended> {
        let making = self.pointers.lock(id).await?;
        let is_listed = self.pointers.text(id)?.is_some();
        let ended = self.cluster.release(id, launcher, files).await?;
        self.forget(id, making);
        Ok(if is_listed { Ended::Now } else { ended })
    }

    async fn remove_dead(&self, id: &SessionId, launcher: &dyn Launcher) -> Result<()> {
        self.cluster.remove_dead(id, launcher).await
    }

    async fn prune(&self, id: &SessionId, launcher: &dyn Launcher, most: Duration, doing: Pruning) -> Result<Pruned> {
        let Some(making) = self.pointers.lock_now(id)? else { return Ok(Pruned::Stays) };
        if self.pointers.text(id)?.is_none() {
            making.remove();
            return Ok(Pruned::Stays);
        }
        let jobs = timeout(PATIENCE, self.jobs(id, launcher)).await;
        let pruned = match jobs.unwrap_or_else(|_| Err(silent(id)))? {
            None if !self.cluster.list().await?.contains(id) => Pruned::HadEnded,
            Some(0) | None => self.cluster.prune(id, launcher, most, doing).await?,
            Some(_) => Pruned::Stays,
        };
        if pruned != Pruned::Stays && doing == Pruning::Remove {
            self.forget(id, making);
        }
        Ok(pruned)
    }

    async fn prune_unknown(&self, launcher: &dyn Launcher, doing: Pruning) -> Result<usize> {
        self.cluster.prune_unknown(launcher, doing).await
    }

    async fn list(&self) -> Result<Vec<SessionId>> {
        self.pointers.list().await
    }

    async fn reap(&self, most: Option<Duration>) -> Result<Vec<(SessionId, Duration)>> {
        self.cluster.reap(most).await
    }
}

/// A session of the cluster that this process uses, and its pointer.
#[derive(Debug)]
struct OpenPointedSession {
    store: PointerStore,
    id: SessionId,
    open: Box<dyn OpenSession>,
    record: SessionRecord,
    used: Lock,
}

#[async_trait]
impl OpenSession for OpenPointedSession {
    fn opened(&self) -> Opened {
        self.open.opened()
    }

    fn record(&self) -> Option<&SessionRecord> {
        Some(&self.record)
    }

    async fn leave(&self, launcher: &dyn Launcher, why: Leaving) -> Result<Left> {
        let left = self.open.leave(launcher, why).await?;
        if left == Left::Ended {
            let making = self.store.pointers.lock(&self.id).await?;
            self.store.forget(&self.id, making);
        }
        Ok(left)
    }

    fn recorded(&self) -> Option<Duration> {
        self.open.recorded()
    }

    async fn record_use(&self, idle: Duration) -> Result<bool> {
        self.used.touch();
        self.open.record_use(idle).await
    }
}

impl Drop for OpenPointedSession {
    fn drop(&mut self) {
        self.used.touch();
    }
}
