//! Opens a session: chooses its pod by creating its Lease, and completes whatever another process has left undone.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::sleep;
use workden_core::{Error, ErrorKind, Result};

use super::{
    ClusterSession, ClusterSessions, HeldLease,
    lease::{PodReference, SessionLease},
    spares,
};
use crate::{
    kubernetes::{
        KubernetesSandbox, cluster::patiently, creation, errors, labels, launched, names, pod_state::PodState,
    },
    launcher::{LaunchRequest, Launched},
    session_id::SessionId,
};

/// How often a session is tried that other processes end or replace meanwhile.
const ATTEMPTS: u32 = 40;
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// What came of an attempt.
enum Attempt {
    Opened(KubernetesSandbox),
    /// The record or the pod has changed meanwhile.
    Again,
}

/// To whom a pod belongs.
#[derive(Debug, PartialEq, Eq)]
enum Owner {
    Session,
    /// It is a spare pod.
    NoSession,
    Another,
}

pub(super) async fn open(sessions: &ClusterSessions, session: &SessionId, idle: Duration) -> Result<ClusterSession> {
    if sessions.launcher().pool_name().is_some() {
        let sentence = "`pool` is not supported with records in the cluster";
        return Err(
            Error::new(ErrorKind::Unsupported, sentence).hint("leave out `pool`, and use `spares` of the manager")
        );
    }
    let mut is_new = false;
    for attempt in 0..ATTEMPTS {
        let mut lease = match sessions.read(session).await? {
            Some(lease) => lease,
            None => match create(sessions, session, idle).await? {
                Some(lease) => {
                    is_new = true;
                    lease
                }
                None => continue,
            },
        };
        let sandbox = match enter(sessions, &lease, idle).await {
            Ok(Attempt::Opened(sandbox)) => sandbox,
            Ok(Attempt::Again) => {
                sleep(Duration::from_millis(10 << attempt.min(6)).min(LONGEST_PAUSE)).await;
                continue;
            }
            Err(error) => {
                // A record without a pod must not outlive the failure. Another process may go on with it.
                if lease.pod_uid.is_none() {
                    let _ = lease.delete_unchanged(&sessions.leases().await?).await;
                }
                return Err(error);
            }
        };
        let Some((name, uid)) = sandbox.pod() else { continue };
        if !is_bound(&lease, &uid, is_new) {
            let reference = PodReference { name: &name, uid: &uid };
            let renewed = lease.renew(&sessions.leases().await?, sessions.now().await?, idle, Some(reference)).await?;
            match renewed {
                Some(renewed) => lease = renewed,
                None => continue,
            }
        }
        let lease = HeldLease::new(sessions.clone(), lease);
        let launched = Launched { sandbox: std::sync::Arc::new(sandbox), name };
        return Ok(ClusterSession { launched, is_new, lease });
    }
    let sentence = format!("the session `{session}` was ended {ATTEMPTS} times while it started");
    Err(Error::new(ErrorKind::Busy, sentence).hint("another process releases it again and again"))
}

/// Whether a lease needs no change: it was created now, and names this very pod.
fn is_bound(lease: &SessionLease, uid: &str, is_new: bool) -> bool {
    is_new && lease.pod_uid.as_deref() == Some(uid)
}

/// Creates the lease of a session, with a spare pod if there is one.
async fn create(sessions: &ClusterSessions, session: &SessionId, idle: Duration) -> Result<Option<SessionLease>> {
    let (owner, leases, now) = (sessions.owner(), sessions.leases().await?, sessions.now().await?);
    let spare = if sessions.wants_spares() { spares::choose(sessions, session).await? } else { None };
    match spare {
        Some((name, uid)) => SessionLease::create(&leases, owner, session, (&name, Some(&uid)), (now, idle)).await,
        None => {
            let name = names::of_session(owner, session);
            SessionLease::create(&leases, owner, session, (&name, None), (now, idle)).await
        }
    }
}

/// Uses the pod that a lease names, and creates it if it does not exist.
async fn enter(sessions: &ClusterSessions, lease: &SessionLease, idle: Duration) -> Result<Attempt> {
    let own_name = names::of_session(sessions.owner(), &lease.session);
    let attached = match sessions.pod_of(lease).await? {
        None if lease.pod_uid.is_none() && lease.pod == own_name => make(sessions, lease, idle).await,
        Some(found) if !matches!(PodState::of(&found), PodState::Ended(_)) => match owner_of(sessions, &found, lease) {
            // Its keeper may not have been launched yet.
            Owner::Session if lease.pod == own_name && !launched::is_marked(&found) => {
                make(sessions, lease, idle).await
            }
            Owner::Session => attach(sessions, &found).await,
            Owner::NoSession if claim(sessions, &found, &lease.session).await? => attach(sessions, &found).await,
            Owner::NoSession => return Ok(Attempt::Again),
            Owner::Another => return forget(sessions, lease).await,
        },
        Some(ended) => {
            sessions.delete_pod(&ended).await?;
            return forget(sessions, lease).await;
        }
        None => return forget(sessions, lease).await,
    };
    match attached {
        Ok(sandbox) => Ok(Attempt::Opened(sandbox)),
        // Its pod ended meanwhile, or its creator was killed before it shared the token.
        Err(error) if matches!(error.kind(), ErrorKind::Gone | ErrorKind::NotFound) => {
            tracing::debug!(session = %lease.session, %error, "pod replaced");
            if let Some(dead) = sessions.pod_of(lease).await? {
                sessions.delete_pod(&dead).await?;
            }
            forget(sessions, lease).await
        }
        Err(error) => Err(error),
    }
}

async fn forget(sessions: &ClusterSessions, lease: &SessionLease) -> Result<Attempt> {
    lease.delete_unchanged(&sessions.leases().await?).await?;
    Ok(Attempt::Again)
}

/// Creates the pod of a session, or uses the existing one of its name.
async fn make(sessions: &ClusterSessions, lease: &SessionLease, idle: Duration) -> Result<KubernetesSandbox> {
    let order = LaunchRequest { session: Some(lease.session.clone()), idle: Some(idle), ..LaunchRequest::default() };
    let sandbox = sessions.launcher().builder(&order)?.label(labels::RECORD, labels::LEASE).build()?;
    sandbox.start().await?;
    Ok(sandbox)
}

async fn attach(sessions: &ClusterSessions, found: &Pod) -> Result<KubernetesSandbox> {
    let wanted = sessions.launcher().fingerprint()?;
    creation::check_options(&wanted, found)?;
    let sandbox = sessions.launcher().found_sandbox(found.clone())?;
    sandbox.start().await?;
    Ok(sandbox)
}

fn owner_of(sessions: &ClusterSessions, found: &Pod, lease: &SessionLease) -> Owner {
    let label = |name: &str| found.metadata.labels.as_ref().and_then(|all| all.get(name).cloned());
    match label(labels::SESSION) {
        Some(hash) if hash == sessions.hash(&lease.session) => Owner::Session,
        None if label(labels::SPARE).is_some() => Owner::NoSession,
        _ => Owner::Another,
    }
}

/// Gives a spare pod to a session, unless it has changed since it was read. Returns whether it is the session's now.
async fn claim(sessions: &ClusterSessions, spare: &Pod, session: &SessionId) -> Result<bool> {
    let pods = sessions.cluster().pods().await?;
    let name = spare.metadata.name.as_deref().unwrap_or_default();
    let patch = Patch::Merge(json!({"metadata": {
        "uid": spare.metadata.uid,
        "resourceVersion": spare.metadata.resource_version,
        "labels": {labels::SPARE: null, labels::SESSION: sessions.hash(session)},
        "annotations": {labels::SESSION_ID: session.as_str()},
    }}));
    let params = PatchParams::default();
    match patiently(|| pods.patch_metadata(name, &params, &patch)).await {
        Ok(_) => Ok(true),
        Err(error) if matches!(errors::code(&error), Some(404 | 409)) => Ok(false),
        Err(error) => Err(errors::failed(&format!("assign the pod `{name}` to a session"), &error)),
    }
}
