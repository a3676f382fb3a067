//! Ends idle sessions, and removes what killed processes left.
//!
//! Invariant: the lease of a session is deleted before its pod, in the version in which the session was idle. Use that
//! another process records meanwhile keeps the session.

use std::{collections::BTreeSet, time::Duration};

use futures_util::{StreamExt, future, stream};
use k8s_openapi::{api::core::v1::Pod, jiff::Timestamp};
use tokio::time::timeout;
use workden_core::{Result, Sandbox};

use super::{ANSWER_TIME, ClusterSessions, ReapedSessions, lease::SessionLease};
use crate::kubernetes::{labels, pod_state::PodState};

/// How many sessions are ended at a time.
const AT_A_TIME: usize = 32;
/// The longest time between two records of use, and some more.
const LONGEST_UNRECORDED: Duration = Duration::from_secs(40);
/// How old a pod without a lease must be: a younger one may belong to a session that is just opened. A lease without a
/// pod gets as long.
const UNFINISHED: Duration = Duration::from_secs(180);

pub(super) async fn reap(sessions: &ClusterSessions, most: Option<Duration>) -> Result<ReapedSessions> {
    let (informers, now) = (sessions.informers().await?, sessions.now().await?);
    let leases: Vec<SessionLease> = informers.leases().iter().filter_map(|lease| SessionLease::of(lease)).collect();
    let pods = informers.pods();
    let leftovers = remove_leftovers(sessions, &leases, &pods, now).await;
    let overdue = leases.into_iter().filter(|lease| lease.idle_at(now) >= limit(lease, most));
    let ending = overdue.map(|lease| async move {
        match end_if_idle(sessions, &lease, most).await {
            Ok(idle) => idle.map(|idle| (lease.session, idle)),
            Err(error) => {
                tracing::debug!(session = %lease.session, %error, "session not ended; the next reaper tries again");
                None
            }
        }
    });
    let ended = stream::iter(ending).buffer_unordered(AT_A_TIME);
    Ok(ReapedSessions { sessions: ended.filter_map(future::ready).collect().await, leftovers })
}

/// Ends a session if it has been idle for its limit, or for `most`, and no job runs in it. Returns how long it was
/// idle.
pub(super) async fn end_if_idle(
    sessions: &ClusterSessions,
    lease: &SessionLease,
    most: Option<Duration>,
) -> Result<Option<Duration>> {
    let (leases, now) = (sessions.leases().await?, sessions.now().await?);
    let idle = lease.idle_at(now);
    if idle < limit(lease, most) {
        return Ok(None);
    }
    let pod = sessions.pod_of(lease).await?;
    let running = pod.as_ref().filter(|pod| PodState::of(pod) == PodState::Running);
    if let Some(running) = running
        && is_used(sessions, running, most.unwrap_or(lease.idle)).await
    {
        lease.renew(&leases, now, lease.idle, None).await?;
        return Ok(None);
    }
    if !lease.delete_unchanged(&leases).await? {
        return Ok(None);
    }
    if let Some(pod) = &pod {
        sessions.delete_pod(pod).await?;
    }
    Ok(Some(idle))
}

/// Returns how long a session must be idle. A session in use may have been recorded as used this long ago.
fn limit(lease: &SessionLease, most: Option<Duration>) -> Duration {
    let between_records = (lease.idle / 3).min(LONGEST_UNRECORDED);
    most.unwrap_or(lease.idle).max(between_records)
}

/// Whether jobs run in a pod, or a call was made whose record is late. One that does not answer counts as idle.
async fn is_used(sessions: &ClusterSessions, pod: &Pod, most: Duration) -> bool {
    let asked = async { sessions.adopt(pod).await?.sandbox.usage().await };
    matches!(timeout(ANSWER_TIME, asked).await, Ok(Ok(usage)) if usage.jobs > 0 || usage.idle < most)
}

/// Removes pods that have ended, and pods and leases that no process has completed in time. Returns how many.
async fn remove_leftovers(
    sessions: &ClusterSessions,
    leases: &[SessionLease],
    pods: &[std::sync::Arc<Pod>],
    now: Timestamp,
) -> usize {
    let led: BTreeSet<&str> = leases.iter().map(|lease| lease.pod.as_str()).collect();
    let existing: BTreeSet<&str> = pods.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
    let mut removed = 0;
    for pod in pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()) {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let has_ended = matches!(PodState::of(pod), PodState::Ended(_));
        let is_spare = pod.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(labels::SPARE));
        let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let is_old = created.is_none_or(|created| is_past(created, now));
        if has_ended || (!is_spare && !led.contains(name) && is_old && is_unled(sessions, pod).await) {
            removed += usize::from(sessions.delete_pod(pod).await.is_ok());
        }
    }
    for lease in leases {
        let is_unfinished = lease.pod_uid.is_none() && is_past(lease.used, now);
        if is_unfinished && !existing.contains(lease.pod.as_str()) {
            let Ok(all) = sessions.leases().await else { continue };
            removed += usize::from(lease.delete_unchanged(&all).await.unwrap_or(false));
        }
    }
    removed
}

fn is_past(time: Timestamp, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(time)).is_ok_and(|age| age > UNFINISHED)
}

/// Whether a pod has no lease at this moment. The watches of leases and pods do not advance together.
async fn is_unled(sessions: &ClusterSessions, pod: &Pod) -> bool {
    let session = pod.metadata.annotations.as_ref().and_then(|all| all.get(labels::SESSION_ID));
    let Some(session) = session.and_then(|session| session.parse().ok()) else { return true };
    match sessions.read(&session).await {
        Ok(lease) => lease.map(|lease| lease.pod) != pod.metadata.name,
        Err(_) => false,
    }
}
