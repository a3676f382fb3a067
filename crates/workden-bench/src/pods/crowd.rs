//! The crowd: sessions that exist only in the API server. Their pods are copies of a real one, bound to nodes that do not
//! exist, with its status and its keeper's address and token. So a manager that opens one really connects to a keeper.

use std::{ops::Range, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::{
    api::{
        coordination::v1::Lease,
        core::v1::{Node, Pod, Secret},
    },
    jiff::Timestamp,
};
use kube::{
    Api, Client,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use workden_sessions::{SessionManager, SessionOptions};

use super::{Place, manager};
use crate::Failure;

/// Pods of a node: the usual limit of a kubelet is 110.
const PODS_PER_NODE: usize = 100;
/// How many sessions are invented at a time.
const AT_A_TIME: usize = 32;
/// How long a session of the crowd may be idle, in seconds.
const IDLE: u64 = 24 * 60 * 60;
/// The label of an invented node.
const INVENTED: &str = "workden-bench/invented";
/// The session whose objects are copied.
const ORIGINAL: &str = "original";

/// Sessions that exist only in the API server.
pub(super) struct Crowd {
    client: Client,
    namespace: String,
    owner: String,
    original: Original,
    /// Keeps the original alive.
    _manager: SessionManager,
    sessions: usize,
    /// How many of them have the address of a keeper, the first ones.
    reachable: usize,
}

/// The objects of the original, as templates.
struct Original {
    pod: Value,
    status: Value,
    lease: Value,
    secret: Value,
}

impl Crowd {
    /// Starts the original.
    pub(super) async fn new(place: &Place, owner: &str, reachable: usize) -> Result<Self, Failure> {
        let (client, namespace) = (place.client.clone(), place.namespace.clone());
        let manager = manager::builder(&namespace, owner)?.start().await?;
        let idle = Some(Duration::from_secs(IDLE));
        let wanted = SessionOptions { idle, ..SessionOptions::default() };
        let session = manager.get_or_create_with(&ORIGINAL.parse()?, wanted).await?;
        manager::used(&*session).await?;
        let pod: Pod = Api::namespaced(client.clone(), &namespace).get(session.name()).await?;
        let uid = pod.metadata.uid.clone().ok_or("a pod without an id")?;
        let secret: Secret = Api::namespaced(client.clone(), &namespace).get(&format!("workden-{uid}")).await?;
        let lease: Lease = Api::namespaced(client.clone(), &namespace).get(&lease_of(owner, ORIGINAL)).await?;
        let original = Original::of(&pod, &lease, &secret)?;
        let owner = owner.to_owned();
        Ok(Self { client, namespace, owner, original, _manager: manager, sessions: 0, reachable })
    }

    /// Returns the id of a session.
    pub(super) fn session(nth: usize) -> String {
        format!("user_{nth}")
    }

    /// Invents more sessions, until there are so many.
    pub(super) async fn grow(&mut self, sessions: usize) -> Result<(), Failure> {
        let nodes = Api::<Node>::all(self.client.clone());
        for nth in self.sessions.div_ceil(PODS_PER_NODE)..sessions.div_ceil(PODS_PER_NODE) {
            let node = json!({"metadata": {"name": node_of(nth * PODS_PER_NODE), "labels": {INVENTED: "true"}}});
            nodes.create(&PostParams::default(), &serde_json::from_value(node)?).await?;
        }
        let inventing = (self.sessions..sessions).map(|nth| self.invent(nth));
        stream::iter(inventing).buffer_unordered(AT_A_TIME).try_collect::<Vec<()>>().await?;
        self.sessions = sessions;
        Ok(())
    }

    async fn invent(&self, nth: usize) -> Result<(), Failure> {
        let (session, name) = (Self::session(nth), lease_of(&self.owner, &Self::session(nth)));
        let mut pod = self.original.pod.clone();
        pod["metadata"]["name"] = json!(name);
        pod["metadata"]["labels"]["workden.dev/session"] = json!(hash(&self.owner, &session));
        pod["metadata"]["annotations"]["workden.dev/session-id"] = json!(session);
        pod["spec"]["nodeName"] = json!(node_of(nth));
        let uid = self.create::<Pod>(pod).await?.metadata.uid.ok_or("a pod without an id")?;
        let pods = Api::<Pod>::namespaced(self.client.clone(), &self.namespace);
        let mut status = self.original.status.clone();
        if nth >= self.reachable {
            // Programs that filter packets work long on addresses.
            status["podIP"].take();
            status["podIPs"].take();
        }
        let status = Patch::Merge(json!({"status": status}));
        pods.patch_status(&name, &PatchParams::default(), &status).await?;

        let owner = json!([{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}]);
        let mut lease = self.original.lease.clone();
        lease["metadata"]["name"] = json!(name);
        lease["metadata"]["annotations"]["workden.dev/session-id"] = json!(session);
        lease["metadata"]["ownerReferences"] = owner.clone();
        lease["spec"]["holderIdentity"] = json!(name);
        self.create::<Lease>(lease).await?;
        let mut secret = self.original.secret.clone();
        secret["metadata"]["name"] = json!(format!("workden-{uid}"));
        secret["metadata"]["ownerReferences"] = owner;
        self.create::<Secret>(secret).await.map(drop)
    }

    async fn create<K>(&self, object: Value) -> Result<K, Failure>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
        K: Clone + std::fmt::Debug + DeserializeOwned + Serialize,
    {
        let objects = Api::<K>::namespaced(self.client.clone(), &self.namespace);
        Ok(objects.create(&PostParams::default(), &serde_json::from_value(object)?).await?)
    }

    /// Makes these sessions look as if they had been idle for longer than they may.
    pub(super) async fn make_idle(&self, sessions: Range<usize>) -> Result<(), Failure> {
        let leases = Api::<Lease>::namespaced(self.client.clone(), &self.namespace);
        let long_ago = Timestamp::now() - k8s_openapi::jiff::SignedDuration::from_hours(1);
        let idle = Patch::Merge(json!({"spec": {"renewTime": format!("{long_ago:.6}"), "leaseDurationSeconds": 1}}));
        let params = PatchParams::default();
        let names = sessions.map(|nth| lease_of(&self.owner, &Self::session(nth)));
        let making = names.map(async |name| leases.patch(&name, &params, &idle).await.map(drop));
        Ok(stream::iter(making).buffer_unordered(AT_A_TIME).try_collect().await?)
    }

    /// Checks that so many sessions are left, besides the original.
    pub(super) async fn check_left(&self, sessions: usize) -> Result<(), Failure> {
        let pods = Api::<Pod>::namespaced(self.client.clone(), &self.namespace);
        let leases = Api::<Lease>::namespaced(self.client.clone(), &self.namespace);
        let ours = ListParams::default().labels(&format!("workden.dev/owner={}", self.owner));
        let left = (pods.list_metadata(&ours).await?.items.len(), leases.list_metadata(&ours).await?.items.len());
        match left == (sessions + 1, sessions + 1) {
            true => Ok(()),
            false => Err(format!("{left:?} pods and leases are left, and not {} each", sessions + 1).into()),
        }
    }

    /// Removes all invented nodes.
    pub(super) async fn remove_nodes(client: &Client) -> Result<(), Failure> {
        let invented = ListParams::default().labels(INVENTED);
        Api::<Node>::all(client.clone()).delete_collection(&DeleteParams::default(), &invented).await?;
        Ok(())
    }
}

impl Original {
    fn of(pod: &Pod, lease: &Lease, secret: &Secret) -> Result<Self, Failure> {
        let mut pod = template(pod)?;
        let mut status = pod["status"].take();
        // The cluster takes this condition away from pods whose node does not answer, one by one.
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.retain(|condition| condition["type"] != "Ready");
        }
        // The cluster marks nodes that do not answer, and would evict their pods. No kubelet confirms a deletion.
        pod["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        pod["spec"]["terminationGracePeriodSeconds"] = json!(0);
        Ok(Self { pod, status, lease: template(lease)?, secret: template(secret)? })
    }
}

/// Returns an object without what the cluster has given it.
fn template(object: &impl Serialize) -> Result<Value, Failure> {
    let mut object = serde_json::to_value(object)?;
    let metadata = object["metadata"].as_object_mut().ok_or("an object without metadata")?;
    for given in ["creationTimestamp", "generation", "managedFields", "ownerReferences", "resourceVersion", "uid"] {
        metadata.remove(given);
    }
    Ok(object)
}

fn node_of(nth: usize) -> String {
    format!("workden-invented-{}", nth / PODS_PER_NODE)
}

/// Returns the name of the Lease of a session, by which managers find it.
fn lease_of(owner: &str, session: &str) -> String {
    format!("workden-{}", hash(owner, session))
}

fn hash(owner: &str, session: &str) -> String {
    let digest = Sha256::digest(format!("{owner}\0{session}"));
    digest.iter().take(8).fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}
