//! `Informers`: the leases and pods of an owner, which the cluster keeps up to date by watches.
//!
//! Invariant: a list that is no longer kept up to date, because the cluster does not permit its watch, is an error.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::StreamExt;
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
use kube::{
    Api, Resource,
    runtime::{
        WatchStreamExt,
        reflector::{self, Store},
        watcher,
    },
};
use serde::de::DeserializeOwned;
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::timeout,
};
use workden_core::{Error, ErrorKind, Result};

use crate::kubernetes::{cluster::Cluster, labels, starting};

/// How long the first lists may take.
const LIST_TIME: Duration = Duration::from_secs(60);

/// What the cluster has of an owner.
pub(super) struct Informers {
    leases: Watched<Lease>,
    pods: Watched<Pod>,
    /// Notified when a pod changes.
    pub(super) pods_changed: Arc<Notify>,
}

impl Informers {
    /// Starts the watches, and waits for the first lists.
    pub(super) async fn start(cluster: &Cluster, owner: &str) -> Result<Self> {
        let of_owner = watcher::Config::default().labels(&format!("{}={owner}", labels::OWNER));
        // Other processes of the same owner may keep the records of their pods elsewhere.
        let recorded = format!("{}={owner},{}={}", labels::OWNER, labels::RECORD, labels::LEASE);
        let recorded = watcher::Config::default().labels(&recorded);
        let pods_changed = Arc::new(Notify::new());
        let leases =
            Watched::start("leases", cluster.api().await?, of_owner, Arc::new(Notify::new()), |lease: &mut Lease| {
                lease.metadata.managed_fields = None;
            });
        let pods =
            Watched::start("pods", cluster.pods().await?, recorded, Arc::clone(&pods_changed), |pod: &mut Pod| {
                // Ten thousand specifications would need most of the memory.
                pod.metadata.managed_fields = None;
                pod.spec = None;
            });
        let informers = Self { leases, pods, pods_changed };
        let both = async { tokio::try_join!(informers.leases.listed(), informers.pods.listed()) };
        match timeout(LIST_TIME, both).await {
            Ok(Ok(_)) => Ok(informers),
            Ok(Err(why)) => Err(why),
            Err(_) => {
                let sentence = format!("listing the sessions timed out after {} s", LIST_TIME.as_secs());
                Err(Error::new(ErrorKind::TimedOut, sentence)
                    .hint("`workden doctor --sandbox kubernetes` checks the permissions to list and watch"))
            }
        }
    }

    /// Returns why the lists are no longer kept up to date, if they are not.
    pub(super) fn check(&self) -> Result<()> {
        self.leases.check()?;
        self.pods.check()
    }

    pub(super) fn leases(&self) -> Vec<Arc<Lease>> {
        self.leases.objects.state()
    }

    pub(super) fn pods(&self) -> Vec<Arc<Pod>> {
        self.pods.objects.state()
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Informers")
    }
}

/// Objects of one kind. The watch ends when this is dropped.
struct Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    objects: Store<K>,
    /// Why the cluster refuses the watch, while it does.
    refused: watch::Receiver<Option<Error>>,
    task: JoinHandle<()>,
}

impl<K> Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static,
{
    /// Starts the watch. `changed` is notified when an object changes.
    fn start(
        what: &'static str,
        objects: Api<K>,
        which: watcher::Config,
        changed: Arc<Notify>,
        shrink: impl Fn(&mut K) + Send + 'static,
    ) -> Self {
        let (reader, writer) = reflector::store();
        let (refusal, refused) = watch::channel(None);
        let changes = watcher(objects, which).modify(shrink).reflect(writer).default_backoff();
        let task = tokio::spawn(async move {
            let mut changes = std::pin::pin!(changes);
            while let Some(change) = changes.next().await {
                match change {
                    Ok(_) => {
                        refusal.send_if_modified(|why| why.take().is_some());
                        changed.notify_waiters();
                    }
                    // It starts again by itself, with a pause that grows.
                    Err(error) => {
                        tracing::debug!(%error, "watch interrupted");
                        if let Some(why) = starting::refused(&format!("list and watch {what}"), &error) {
                            refusal.send_replace(Some(why));
                        }
                    }
                }
            }
        });
        Self { objects: reader, refused, task }
    }

    /// Waits for the first list.
    async fn listed(&self) -> Result<()> {
        let mut refused = self.refused.clone();
        let refused = async {
            match refused.wait_for(Option::is_some).await {
                Ok(why) => why.clone(),
                Err(_) => None,
            }
        };
        tokio::select! {
            listed = self.objects.wait_until_ready() => {
                listed.map_err(|_| Error::new(ErrorKind::Io, "the watch of the sessions ended"))
            }
            why = refused => why.map_or(Ok(()), Err),
        }
    }

    fn check(&self) -> Result<()> {
        self.refused.borrow().clone().map_or(Ok(()), Err)
    }
}

impl<K> Drop for Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    fn drop(&mut self) {
        self.task.abort();
    }
}
