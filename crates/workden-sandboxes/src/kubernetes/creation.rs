//! Creates and deletes pods.
//!
//! Invariant: a pod is deleted by its id, so that a newer pod of the same name stays.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::{
    api::{DeleteParams, PostParams, Preconditions},
    runtime::wait::{await_condition, conditions::is_deleted},
};
use tokio::time::{Instant, sleep, timeout};
use workden_core::{Error, ErrorKind, Result};

use super::{
    cluster::{Cluster, patiently},
    errors, labels,
    plan::PodPlan,
    pod_state::PodState,
    starting::StartTimes,
};

/// How long a new namespace may lack its service account.
const ACCOUNT_TIME: Duration = Duration::from_secs(5);
/// How long a controller may take to delete a pod, on a busy node.
const DELETION_TIME: Duration = Duration::from_secs(180);

/// Creates the pod, or returns the existing one of this name, and whether it is new.
pub(super) async fn create(cluster: &Cluster, plan: &PodPlan, name: &str, times: StartTimes) -> Result<(Pod, bool)> {
    let pods = cluster.pods().await?;
    let pod = plan.pod(name)?;
    let (params, began) = (PostParams::default(), Instant::now());
    loop {
        let error = match patiently(|| pods.create(&params, &pod)).await {
            Ok(made) => return Ok((made, true)),
            Err(error) => error,
        };
        let what = format!("create the pod `{name}`");
        if errors::exists_already(&error) {
            let found = patiently(|| pods.get_opt(name)).await.map_err(|error| errors::failed(&what, &error))?;
            match found {
                Some(found) if !is_over(&found) => {
                    check_options(made_of(&pod).as_deref().unwrap_or_default(), &found)?;
                    return Ok((found, false));
                }
                // One that has ended is replaced, and one that is being deleted is waited for.
                found if began.elapsed() < times.start => {
                    if let Some(uid) = found.as_ref().and_then(|found| found.metadata.uid.as_deref()) {
                        delete(cluster, name, uid).await?;
                    }
                    sleep(Duration::from_millis(100)).await;
                }
                _ => return Err(errors::failed(&what, &error)),
            }
            continue;
        }
        let failed = errors::failed(&what, &error);
        // A namespace gets its service account a moment after it was created.
        if !failed.sentence().contains("error looking up service account") || began.elapsed() > ACCOUNT_TIME {
            return Err(failed);
        }
        sleep(Duration::from_millis(200)).await;
    }
}

/// Whether a pod has ended, or is being deleted.
fn is_over(pod: &Pod) -> bool {
    matches!(PodState::of(pod), PodState::Ended(_))
}

/// Returns the hash of the options with which a pod was created.
fn made_of(pod: &Pod) -> Option<String> {
    pod.metadata.annotations.as_ref()?.get(labels::MADE_OF).cloned()
}

/// Rejects an existing pod that was created with options of another hash.
pub(super) fn check_options(wanted: &str, found: &Pod) -> Result<()> {
    if made_of(found).unwrap_or_default() == wanted {
        return Ok(());
    }
    let name = found.metadata.name.as_deref().unwrap_or_default();
    let sentence = format!("another pod `{name}` exists already, which was created with other options");
    Err(Error::new(ErrorKind::Conflict, sentence)
        .hint(format!("see `kubectl describe pod {name}`; release its session, or use the same options")))
}

/// Deletes a pod, unless it is another one of the same name by now.
pub(super) async fn delete(cluster: &Cluster, name: &str, uid: &str) -> Result<()> {
    let pods = cluster.pods().await?;
    let params = DeleteParams {
        preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
        ..DeleteParams::background()
    };
    match patiently(|| pods.delete(name, &params)).await {
        Ok(_) => Ok(()),
        Err(error) if matches!(errors::code(&error), Some(404 | 409)) => Ok(()),
        Err(error) => Err(errors::failed(&format!("delete the pod `{name}`"), &error)),
    }
}

/// Waits until a controller has deleted a pod.
pub(super) async fn deleted(cluster: &Cluster, name: &str, uid: &str) -> Result<()> {
    match timeout(DELETION_TIME, await_condition(cluster.pods().await?, name, is_deleted(uid))).await {
        Ok(_) => Ok(()),
        Err(_) => {
            let seconds = DELETION_TIME.as_secs();
            let sentence = format!("waiting for the deletion of the pod `{name}` timed out after {seconds} s");
            Err(Error::new(ErrorKind::TimedOut, sentence)
                .hint(format!("`kubectl describe pod {name}` says what it waits for")))
        }
    }
}

/// Deletes the pod of this name. A missing pod is not an error.
pub(super) async fn delete_named(cluster: &Cluster, name: &str) -> Result<()> {
    let (pods, params) = (cluster.pods().await?, DeleteParams::background());
    match patiently(|| pods.delete(name, &params)).await {
        Ok(_) => Ok(()),
        Err(error) if errors::is_not_found(&error) => Ok(()),
        Err(error) => Err(errors::failed(&format!("delete the pod `{name}`"), &error)),
    }
}
