//! Spare pods: created in advance, in the cluster for all processes, and claimed by the first session that fits.
//!
//! Invariant: processes that create spare pods at a time choose the same names, so that they create each once.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;
use tokio::time::{sleep, timeout};
use workden_core::Result;

use super::{ClusterSessions, Shared};
use crate::{
    kubernetes::{cluster::patiently, creation, errors, labels, names, pod_state::PodState},
    launcher::LaunchRequest,
    session_id::SessionId,
};

/// How many are created at a time.
const AT_A_TIME: usize = 4;
/// How long a change of the pods is waited for.
const LOOK: Duration = Duration::from_secs(10);
/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Keeps this many spare pods, until the sessions are dropped or another number is set.
pub(super) async fn keep_filled(shared: Weak<Shared>, ready: usize) {
    let mut pause = FIRST_PAUSE;
    while let Some(shared) = shared.upgrade() {
        let sessions = ClusterSessions { shared };
        let kept = sessions.shared.spares.lock().map_or(0, |spares| *spares);
        if kept != ready {
            return;
        }
        match fill(&sessions, ready).await {
            Ok(()) => pause = FIRST_PAUSE,
            Err(error) => {
                tracing::warn!(%error, "no spare pod");
                drop(sessions);
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

/// Creates some of the missing ones, or removes those that are too many; waits for a change when the number is right.
async fn fill(sessions: &ClusterSessions, ready: usize) -> Result<()> {
    let informers = sessions.informers().await?;
    let mut changed = std::pin::pin!(informers.pods_changed.notified());
    changed.as_mut().enable();
    let pods = informers.pods();
    let mut spares: Vec<&Arc<Pod>> = pods.iter().filter(|pod| is_spare(pod)).collect();
    if spares.len() < ready {
        let taken: BTreeSet<&str> = pods.iter().filter_map(|pod| pod.metadata.name.as_deref()).collect();
        let free = (0..).map(|index| names::of_spare(sessions.owner(), index)).filter(|name| !taken.contains(&**name));
        let missing = (ready - spares.len()).min(AT_A_TIME);
        let made = join_all(free.take(missing).map(|name| make(sessions, name))).await;
        return made.into_iter().collect();
    }
    spares.sort_by_key(|pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0));
    for surplus in spares.iter().skip(ready) {
        delete_unchanged(sessions, surplus).await?;
    }
    let _ = timeout(LOOK, changed).await;
    Ok(())
}

/// Creates a spare pod, and marks it as ready.
async fn make(sessions: &ClusterSessions, name: String) -> Result<()> {
    let launcher = sessions.launcher();
    let builder = launcher.builder(&LaunchRequest::default())?.pod_name(&name).label(labels::SPARE, labels::MAKING);
    let builder = builder.label(labels::RECORD, labels::LEASE);
    builder.build()?.start().await?;
    let pods = sessions.cluster().pods().await?;
    loop {
        let found = patiently(|| pods.get_opt(&name)).await;
        let found = found.map_err(|error| errors::failed(&format!("read the pod `{name}`"), &error))?;
        // A process that waited for the same pod may have marked it, and another may have claimed it since.
        let Some(found) = found.filter(|pod| spare_label(pod) == Some(labels::MAKING)) else { return Ok(()) };
        let patch = Patch::Merge(json!({"metadata": {
            "resourceVersion": found.metadata.resource_version,
            "labels": {labels::SPARE: labels::READY},
        }}));
        let params = PatchParams::default();
        match patiently(|| pods.patch_metadata(&name, &params, &patch)).await {
            Ok(_) => return Ok(()),
            Err(error) if errors::code(&error) == Some(409) => {}
            Err(error) => return Err(errors::failed(&format!("mark the pod `{name}`"), &error)),
        }
    }
}

/// Chooses a spare pod for a session: its name and id. Sessions that are opened at a time choose different ones.
pub(super) async fn choose(sessions: &ClusterSessions, session: &SessionId) -> Result<Option<(String, String)>> {
    let wanted = sessions.launcher().fingerprint()?;
    let fits = |pod: &Pod| {
        spare_label(pod) == Some(labels::READY)
            && PodState::of(pod) == PodState::Running
            && creation::check_options(&wanted, pod).is_ok()
    };
    let ready: Vec<Arc<Pod>> = sessions.informers().await?.pods().into_iter().filter(|pod| fits(pod)).collect();
    let hash = u64::from_str_radix(&sessions.hash(session), 16).unwrap_or_default();
    let place = usize::try_from(hash % (ready.len().max(1) as u64)).unwrap_or_default();
    let named = |pod: &Arc<Pod>| Some((pod.metadata.name.clone()?, pod.metadata.uid.clone()?));
    Ok(ready.get(place).and_then(named))
}

fn is_spare(pod: &Pod) -> bool {
    spare_label(pod).is_some() && !matches!(PodState::of(pod), PodState::Ended(_))
}

fn spare_label(pod: &Pod) -> Option<&str> {
    pod.metadata.labels.as_ref()?.get(labels::SPARE).map(String::as_str)
}

/// Deletes a spare pod, unless a session has claimed it.
async fn delete_unchanged(sessions: &ClusterSessions, spare: &Pod) -> Result<()> {
    let (pods, name) = (sessions.cluster().pods().await?, spare.metadata.name.as_deref().unwrap_or_default());
    let meta = &spare.metadata;
    let preconditions = Some(Preconditions { uid: meta.uid.clone(), resource_version: meta.resource_version.clone() });
    let params = DeleteParams { preconditions, ..DeleteParams::background() };
    match patiently(|| pods.delete(name, &params)).await {
        Ok(_) => Ok(()),
        Err(error) if matches!(errors::code(&error), Some(404 | 409)) => Ok(()),
        Err(error) => Err(errors::failed(&format!("delete the pod `{name}`"), &error)),
    }
}
