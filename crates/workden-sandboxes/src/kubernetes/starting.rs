//! Waits until a pod runs, by a watch; and finds out why one does not, or no longer does.

use std::{pin::pin, time::Duration};

use futures_util::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    api::ListParams,
    runtime::{WatchStreamExt, wait::await_condition, watcher},
};
use tokio::time::{Instant, sleep_until, timeout};
use workden_core::{Error, ErrorKind, Result};

use super::{
    agent_sandbox::template,
    cluster::{Cluster, patiently},
    errors,
    pod_state::{self, PodState},
};

/// How long the cluster may take to list the events of a pod.
const EVENTS_TIME: Duration = Duration::from_secs(3);

/// How long the cluster may take to report that a pod has ended.
const REPORT_TIME: Duration = Duration::from_secs(4);

/// How long a pod may take to start.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartTimes {
    /// In all.
    pub(super) start: Duration,
    /// Without a node that can take it.
    pub(super) schedule: Duration,
}

/// Whether a pod exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// workden has created it.
    Now,
    /// A controller creates it from a template, perhaps after an earlier one of the same name is deleted.
    Later,
}

/// Waits until the container of a pod runs, and returns the pod.
pub(super) async fn running(cluster: &Cluster, name: &str, times: StartTimes, presence: Presence) -> Result<Pod> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut changes = pin!(watcher::watcher(cluster.pods().await?, config).default_backoff());
    let began = Instant::now();
    let (mut unschedulable, mut seen) = (None::<(Instant, String)>, false);
    loop {
        let deadline = unschedulable
            .as_ref()
            .map_or(began + times.start, |(since, _)| (*since + times.schedule).min(began + times.start));
        let change = tokio::select! {
            change = changes.try_next() => change,
            () = sleep_until(deadline) => return Err(late(cluster, name, times, unschedulable).await),
        };
        let pod = match change {
            Ok(Some(watcher::Event::Apply(pod) | watcher::Event::InitApply(pod))) => pod,
            Ok(Some(watcher::Event::Delete(_))) if presence == Presence::Now => return Err(vanished(name)),
            Ok(Some(watcher::Event::InitDone)) if presence == Presence::Now && !seen => return Err(vanished(name)),
            Ok(Some(watcher::Event::Delete(_) | watcher::Event::Init | watcher::Event::InitDone)) => continue,
            Ok(None) => return Err(Error::new(ErrorKind::Unreachable, "the watch of the pod ended")),
            // The watch starts again by itself. What is refused for ever is a matter of permissions.
            Err(error) => match refused("watch the pod", &error) {
                Some(why) => return Err(why),
                None => continue,
            },
        };
        seen = true;
        if presence == Presence::Later {
            if pod.metadata.deletion_timestamp.is_some() {
                continue;
            }
            // Another template's container would never be seen to run.
            template::keeper_source(&pod)?;
        }
        match PodState::of(&pod) {
            PodState::Running => return Ok(pod),
            PodState::Starting => unschedulable = None,
            PodState::Unschedulable(why) => {
                let since = unschedulable.take().map_or_else(Instant::now, |(since, _)| since);
                unschedulable = Some((since, why));
            }
            PodState::Hopeless(why) => return Err(cannot_start(name, &why)),
            PodState::Ended(why) => {
                let why = if why.is_empty() { reason_in_events(cluster, &pod).await } else { why };
                return Err(cannot_start(name, &why));
            }
        }
    }
}

/// Returns why a pod that existed does not answer; `Ok` when it runs and its node is there.
pub(super) async fn why_gone(cluster: &Cluster, name: &str, uid: &str) -> Result<()> {
    let pods = cluster.pods().await?;
    let found = patiently(|| pods.get_opt(name)).await;
    let found = found.map_err(|error| errors::failed(&format!("read the pod `{name}`"), &error))?;
    let found = found.filter(|pod| pod.metadata.uid.as_deref() == Some(uid));
    let Some(pod) = found else {
        let events = latest_event(cluster, uid).await.map_or_else(String::new, |event| format!(" ({event})"));
        return Err(gone(&format!("its pod `{name}` was deleted{events}")));
    };
    check_running(cluster, &pod).await?;
    if pod_state::is_cut_off(&pod) {
        let node = pod.spec.and_then(|spec| spec.node_name).unwrap_or_default();
        let sentence = format!("the node `{node}` of the pod `{name}` no longer reports to the cluster");
        return Err(Error::new(ErrorKind::Unreachable, sentence)
            .hint("it may come back; otherwise the cluster deletes the pod after some minutes"));
    }
    Ok(())
}

/// Returns why a pod that was just read does not run.
pub(super) async fn check_running(cluster: &Cluster, pod: &Pod) -> Result<()> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    match PodState::of(pod) {
        PodState::Running => Ok(()),
        PodState::Starting | PodState::Unschedulable(_) => {
            Err(Error::new(ErrorKind::Busy, format!("the pod `{name}` is starting")))
        }
        PodState::Hopeless(why) => Err(gone(&format!("its pod `{name}` failed: {why}"))),
        PodState::Ended(why) => {
            let why = if why.is_empty() { reason_in_events(cluster, pod).await } else { why };
            Err(gone(&format!("its pod `{name}` has ended: {why}")))
        }
    }
}

/// Returns why the keeper of a pod cannot be reached. The cluster reports the end of a pod some time after its first
/// process has exited, which is waited for.
pub(super) async fn why_unreachable(cluster: &Cluster, name: &str, uid: &str) -> Result<()> {
    why_gone(cluster, name, uid).await?;
    let is_over = |pod: Option<&Pod>| pod.is_none_or(|pod| PodState::of(pod) != PodState::Running);
    let _ = timeout(REPORT_TIME, await_condition(cluster.pods().await?, name, is_over)).await;
    why_gone(cluster, name, uid).await
}

pub(super) fn gone(why: &str) -> Error {
    Error::new(ErrorKind::Gone, format!("the sandbox is gone: {why}"))
        .hint("create a new sandbox; files in a claim are kept")
}

async fn late(cluster: &Cluster, name: &str, times: StartTimes, unschedulable: Option<(Instant, String)>) -> Error {
    if let Some((_, why)) = unschedulable {
        let sentence = format!("no node of the cluster can take the pod `{name}`: {why}");
        return Error::new(ErrorKind::Unsupported, sentence)
            .hint("ask for less memory or fewer CPUs; if the cluster adds nodes, set a longer scheduling timeout");
    }
    let uid = match cluster.pods().await {
        Ok(pods) => patiently(|| pods.get_opt(name)).await.ok().flatten().and_then(|pod| pod.metadata.uid),
        Err(_) => None,
    };
    let event = match uid {
        Some(uid) => latest_event(cluster, &uid).await,
        None => None,
    };
    let event = event.map_or_else(String::new, |event| format!(": {event}"));
    let seconds = times.start.as_secs();
    Error::new(ErrorKind::TimedOut, format!("starting the pod `{name}` timed out after {seconds} s{event}"))
        .hint(format!("`kubectl describe pod {name}` says what it waits for"))
}

fn vanished(name: &str) -> Error {
    Error::new(ErrorKind::Gone, format!("the pod `{name}` was deleted while it started"))
}

fn cannot_start(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the pod `{name}` cannot start: {why}"))
}

/// Returns the error of a watch that will not start again.
pub(super) fn refused(what: &str, error: &watcher::Error) -> Option<Error> {
    let error = match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => error,
        _ => return None,
    };
    matches!(errors::code(error), Some(401 | 403 | 404)).then(|| errors::failed(what, error))
}

/// Returns the reason of an end that the status does not tell.
async fn reason_in_events(cluster: &Cluster, pod: &Pod) -> String {
    let uid = pod.metadata.uid.clone().unwrap_or_default();
    latest_event(cluster, &uid).await.unwrap_or_else(|| "its first process has exited".to_owned())
}

/// Returns the latest event that tells why a pod does not start or was ended.
async fn latest_event(cluster: &Cluster, uid: &str) -> Option<String> {
    let events = cluster.events().await.ok()?;
    let of_pod = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
    // Without the permission the reason is unknown, and nothing else is lost.
    let mut events = timeout(EVENTS_TIME, events.list(&of_pod)).await.ok()?.ok()?.items;
    events.retain(|event| {
        let reason = event.reason.as_deref().unwrap_or_default();
        event.type_.as_deref() == Some("Warning") && reason != "CgroupV1"
            || matches!(reason, "Evicted" | "Preempted" | "TaintManagerEviction" | "NodeNotReady")
    });
    let last = events.into_iter().max_by_key(|event| event.last_timestamp.clone().map(|time| time.0))?;
    let (reason, message) = (last.reason.unwrap_or_default(), last.message.unwrap_or_default());
    Some(format!("{}: {}", errors::shown(&reason), errors::shown(&message)))
}
