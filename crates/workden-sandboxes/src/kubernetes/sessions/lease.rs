//! `SessionLease`: the record of a session in the cluster. It names the pod of the session, says when the session was
//! last used, and is what processes compete for.
//!
//! Invariant: a lease is changed and deleted only by a caller that names its id, and what ends a session names its
//! version as well: a session that another process has just used is not ended.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, OwnerReference},
    jiff::Timestamp,
};
use kube::{
    Api,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions},
};
use serde_json::json;
use workden_core::{Error, ErrorKind, Result};

use crate::{
    kubernetes::{cluster::patiently, errors, labels, names},
    session_id::SessionId,
};

/// The record of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionLease {
    pub(super) session: SessionId,
    /// Its own name, id and version.
    name: String,
    uid: String,
    version: String,
    /// The pod that was chosen for the session. It may not exist yet.
    pub(super) pod: String,
    /// The id of that pod, once it is known.
    pub(super) pod_uid: Option<String>,
    /// When the session was last used, by the clock of the cluster.
    pub(super) used: Timestamp,
    /// How long it may be idle.
    pub(super) idle: Duration,
}

/// A pod, as its name and id.
pub(super) struct PodReference<'p> {
    pub(super) name: &'p str,
    pub(super) uid: &'p str,
}

impl PodReference<'_> {
    fn owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
            name: self.name.to_owned(),
            uid: self.uid.to_owned(),
            ..OwnerReference::default()
        }
    }
}

impl SessionLease {
    /// Reads a lease; `None` when it is not one of a session.
    pub(super) fn of(lease: &Lease) -> Option<Self> {
        let (meta, spec) = (&lease.metadata, lease.spec.as_ref()?);
        let pod_uid = meta.owner_references.iter().flatten().find(|owner| owner.kind == "Pod");
        Some(Self {
            session: meta.annotations.as_ref()?.get(labels::SESSION_ID)?.parse().ok()?,
            name: meta.name.clone()?,
            uid: meta.uid.clone()?,
            version: meta.resource_version.clone()?,
            pod: spec.holder_identity.clone()?,
            pod_uid: pod_uid.map(|owner| owner.uid.clone()),
            used: spec.renew_time.as_ref()?.0,
            idle: Duration::from_secs(u64::try_from(spec.lease_duration_seconds?).ok()?),
        })
    }

    /// Reads the lease of a session.
    pub(super) async fn read(leases: &Api<Lease>, owner: &str, session: &SessionId) -> Result<Option<Self>> {
        let name = names::of_lease(owner, session);
        match patiently(|| leases.get_opt(&name)).await {
            Ok(found) => match found.as_ref().and_then(Self::of) {
                Some(lease) if lease.session != *session => Err(same_hash(session, &lease.session)),
                lease => Ok(lease),
            },
            Err(error) => Err(errors::failed(&format!("read the lease `{name}`"), &error)),
        }
    }

    /// Creates the lease of a session; `None` when another process was faster.
    pub(super) async fn create(
        leases: &Api<Lease>,
        owner: &str,
        session: &SessionId,
        (pod, pod_uid): (&str, Option<&str>),
        (now, idle): (Timestamp, Duration),
    ) -> Result<Option<Self>> {
        let name = names::of_lease(owner, session);
        let mut all_labels = labels::ours();
        all_labels.insert(labels::OWNER.to_owned(), owner.to_owned());
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some(all_labels),
                annotations: Some(BTreeMap::from([(labels::SESSION_ID.to_owned(), session.to_string())])),
                owner_references: pod_uid.map(|uid| vec![PodReference { name: pod, uid }.owner()]),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(pod.to_owned()),
                renew_time: Some(MicroTime(now)),
                lease_duration_seconds: Some(seconds(idle)),
                ..LeaseSpec::default()
            }),
        };
        let params = PostParams::default();
        match patiently(|| leases.create(&params, &lease)).await {
            Ok(made) => Ok(Self::of(&made)),
            Err(error) if errors::exists_already(&error) => Ok(None),
            Err(error) => Err(errors::failed(&format!("create the lease `{name}`"), &error)),
        }
    }

    /// Records use of the session, and the pod that it has. Returns the lease; `None` when it no longer exists.
    pub(super) async fn renew(
        &self,
        leases: &Api<Lease>,
        now: Timestamp,
        idle: Duration,
        pod: Option<PodReference<'_>>,
    ) -> Result<Option<Self>> {
        let mut patch = json!({
            "metadata": {"uid": self.uid},
            "spec": {"renewTime": MicroTime(now), "leaseDurationSeconds": seconds(idle)},
        });
        if let Some(pod) = pod {
            patch["metadata"]["ownerReferences"] = json!([pod.owner()]);
        }
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        match patiently(|| leases.patch(&self.name, &params, &patch)).await {
            Ok(renewed) => Ok(Self::of(&renewed)),
            // Another lease of that name has another id.
            Err(error) if matches!(errors::code(&error), Some(404 | 409)) => Ok(None),
            Err(error) => Err(errors::failed(&format!("renew the lease `{}`", self.name), &error)),
        }
    }

    /// Deletes the lease, unless it has changed since it was read. Returns whether this call has deleted it.
    pub(super) async fn delete_unchanged(&self, leases: &Api<Lease>) -> Result<bool> {
        self.delete_if(leases, Some(self.version.clone())).await
    }

    /// Deletes the lease, whatever has changed in it.
    pub(super) async fn delete(&self, leases: &Api<Lease>) -> Result<bool> {
        self.delete_if(leases, None).await
    }

    async fn delete_if(&self, leases: &Api<Lease>, resource_version: Option<String>) -> Result<bool> {
        let preconditions = Some(Preconditions { uid: Some(self.uid.clone()), resource_version });
        let params = DeleteParams { preconditions, ..DeleteParams::background() };
        match patiently(|| leases.delete(&self.name, &params)).await {
            Ok(_) => Ok(true),
            Err(error) if matches!(errors::code(&error), Some(404 | 409)) => Ok(false),
            Err(error) => Err(errors::failed(&format!("delete the lease `{}`", self.name), &error)),
        }
    }

    /// How long the session has been idle.
    pub(super) fn idle_at(&self, now: Timestamp) -> Duration {
        Duration::try_from(now.duration_since(self.used)).unwrap_or_default()
    }
}

/// Two ids can be made to have the same hash, at great expense.
fn same_hash(session: &SessionId, other: &SessionId) -> Error {
    let sentence = format!("the sessions `{session}` and `{other}` cannot exist at the same time");
    Error::new(ErrorKind::Conflict, sentence).hint("use another id")
}

/// The API server accepts whole seconds, and at least one.
fn seconds(idle: Duration) -> i32 {
    i32::try_from(idle.as_secs()).unwrap_or(i32::MAX).max(1)
}
