//! `Informers`: the leases and pods of an owner, which the cluster keeps up to date by watches.

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
use std::{fmt, hash::Hash, sync::Arc, time::Duration};
use tokio::{sync::Notify, task::JoinHandle, time::timeout};
use workden_core::{Error, ErrorKind, Result};

use crate::kubernetes::{cluster::Cluster, labels};

/// How long the first lists may take.
const LIST_TIME: Duration = Duration::from_secs(60);

/// What the cluster has of an owner.
pub(super) struct Informers {
    leases: Store<Lease>,
    pods: Store<Pod>,
    /// Notified when a pod changes.
    pub(super) pods_changed: Arc<Notify>,
    tasks: [JoinHandle<()>; 2],
}

impl Informers {
    /// Starts the watches, and waits for the first lists.
    pub(super) async fn start(cluster: &Cluster, owner: &str) -> Result<Self> {
        let of_owner = watcher::Config::default().labels(&format!("{}={owner}", labels::OWNER));
        // Other processes of the same owner may keep the records of their pods elsewhere.
        let recorded = format!("{}={owner},{}={}", labels::OWNER, labels::RECORD, labels::LEASE);
        let recorded = watcher::Config::default().labels(&recorded);
        let pods_changed = Arc::new(Notify::new());
        let (leases, watching_leases) =
            watch(cluster.api().await?, of_owner, Arc::new(Notify::new()), |lease: &mut Lease| {
                lease.metadata.managed_fields = None;
            });
        let (pods, watching_pods) =
            watch(cluster.pods().await?, recorded, Arc::clone(&pods_changed), |pod: &mut Pod| {
                // Ten thousand specifications would need most of the memory.
                pod.metadata.managed_fields = None;
                pod.spec = None;
            });
        let informers = Self { leases, pods, pods_changed, tasks: [watching_leases, watching_pods] };
        let both = async { tokio::join!(informers.leases.wait_until_ready(), informers.pods.wait_until_ready()) };
        match timeout(LIST_TIME, both).await {
            Ok((Ok(()), Ok(()))) => Ok(informers),
            _ => {
                let sentence = format!("listing the sessions timed out after {} s", LIST_TIME.as_secs());
                Err(Error::new(ErrorKind::TimedOut, sentence)
                    .hint("`workden doctor --sandbox kubernetes` checks the permissions to list and watch"))
            }
        }
    }

    pub(super) fn leases(&self) -> Vec<Arc<Lease>> {
        self.leases.state()
    }

    pub(super) fn pods(&self) -> Vec<Arc<Pod>> {
        self.pods.state()
    }
}

impl Drop for Informers {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Informers")
    }
}

fn watch<K>(
    objects: Api<K>,
    which: watcher::Config,
    changed: Arc<Notify>,
    shrink: impl Fn(&mut K) + Send + 'static,
) -> (Store<K>, JoinHandle<()>)
where
    K: Resource<DynamicType = ()> + Clone + fmt::Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Hash + Eq,
{
    let (reader, writer) = reflector::store();
    let changes = watcher(objects, which).modify(shrink).reflect(writer).default_backoff();
    let task = tokio::spawn(async move {
        let mut changes = std::pin::pin!(changes);
        while let Some(change) = changes.next().await {
            match change {
                Ok(_) => changed.notify_waiters(),
                // It starts again by itself, with a pause that grows.
                Err(error) => tracing::debug!(%error, "watch interrupted"),
            }
        }
    });
    (reader, task)
}
