//! `ClusterStore`: the records of sessions in a Kubernetes cluster, shared by any number of processes.

use std::time::Duration;

use async_trait::async_trait;
use workden_core::{Error, ErrorKind, Result};
use workden_sandboxes::kubernetes::{ClusterSessions, HeldLease, KubernetesLauncher};

use super::{Ended, Leaving, Left, OpenRequest, OpenSession, Opened, Pruned, Pruning, SessionFiles, SessionStore};
use crate::{Launched, Launcher, SessionId};

/// Keeps the record of each session in a Lease of the cluster.
#[derive(Clone, Debug)]
pub struct ClusterStore {
    sessions: ClusterSessions,
}

impl ClusterStore {
    /// Keeps the records of this launcher's sessions beside their pods.
    #[must_use]
    pub fn new(launcher: KubernetesLauncher) -> Self {
        Self { sessions: ClusterSessions::new(launcher) }
    }
}

#[async_trait]
impl SessionStore for ClusterStore {
    async fn open(&self, request: OpenRequest, _launcher: &dyn Launcher) -> Result<(Launched, Box<dyn OpenSession>)> {
        if request.record.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "a record is not supported with sessions of a cluster"));
        }
        let opened = self.sessions.open(&request.id, request.idle).await?;
        let open = OpenClusterSession {
            sessions: self.sessions.clone(),
            id: request.id,
            opened: if opened.is_new { Opened::New } else { Opened::Existing },
            lease: opened.lease,
        };
        Ok((opened.launched, Box::new(open)))
    }

    async fn look(&self, id: &SessionId, _launcher: &dyn Launcher) -> Result<Option<Launched>> {
        self.sessions.look(id).await
    }

    async fn release(&self, id: &SessionId, _launcher: &dyn Launcher, _files: SessionFiles) -> Result<Ended> {
        Ok(if self.sessions.release(id).await? { Ended::Now } else { Ended::NotThere })
    }

    async fn remove_dead(&self, id: &SessionId, _launcher: &dyn Launcher) -> Result<()> {
        self.sessions.remove_dead(id).await
    }

    async fn prune(&self, id: &SessionId, _launcher: &dyn Launcher, most: Duration, doing: Pruning) -> Result<Pruned> {
        let listed = self.sessions.list().await?.into_iter().find(|listed| listed.session == *id);
        let idle = match (listed, doing) {
            (Some(listed), Pruning::Remove) if listed.idle >= most => self.sessions.end_if_idle(id, Some(most)).await?,
            (Some(listed), Pruning::Look) => Some(listed.idle).filter(|idle| *idle >= most),
            _ => None,
        };
        Ok(idle.map_or(Pruned::Stays, Pruned::Idle))
    }

    async fn prune_unknown(&self, _launcher: &dyn Launcher, doing: Pruning) -> Result<usize> {
        match doing {
            Pruning::Look => Ok(0),
            Pruning::Remove => self.sessions.reap(None).await.map(|reaped| reaped.leftovers),
        }
    }

    async fn list(&self) -> Result<Vec<SessionId>> {
        Ok(self.sessions.list().await?.into_iter().map(|listed| listed.session).collect())
    }

    async fn reap(&self, most: Option<Duration>) -> Result<Vec<(SessionId, Duration)>> {
        Ok(self.sessions.reap(most).await?.sessions)
    }

    fn keep_spares(&self, ready: usize) -> Result<()> {
        self.sessions.keep_spares(ready);
        Ok(())
    }
}

/// A session of the cluster that this process uses.
#[derive(Debug)]
struct OpenClusterSession {
    sessions: ClusterSessions,
    id: SessionId,
    opened: Opened,
    lease: HeldLease,
}

#[async_trait]
impl OpenSession for OpenClusterSession {
    fn opened(&self) -> Opened {
        self.opened
    }

    async fn leave(&self, _launcher: &dyn Launcher, why: Leaving) -> Result<Left> {
        match why {
            // Other processes may use it, and any of them ends it when it is idle.
            Leaving::Shutdown => Ok(Left::GoesOn),
            Leaving::Idle if self.lease.end_unused().await? => Ok(Left::Ended),
            Leaving::Idle => {
                let ended = self.sessions.end_if_idle(&self.id, None).await?;
                Ok(if ended.is_some() { Left::Ended } else { Left::GoesOn })
            }
        }
    }

    fn recorded(&self) -> Option<Duration> {
        Some(self.lease.age())
    }

    async fn record_use(&self, idle: Duration) -> Result<bool> {
        self.lease.renew(idle).await
    }
}
