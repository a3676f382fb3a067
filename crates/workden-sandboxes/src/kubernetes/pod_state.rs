//! The state of a pod, as the cluster reports it: whether it runs, will run, or why it never will.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};

use super::{errors, plan};

/// Reasons of a waiting container that do not pass by themselves in time.
const HOPELESS: [&str; 8] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
    "CrashLoopBackOff",
];

/// The state of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PodState {
    /// Its container runs.
    Running,
    /// It may run soon.
    Starting,
    /// No node can take it now, with the scheduler's reason.
    Unschedulable(String),
    /// It cannot start, with the cluster's reason.
    Hopeless(String),
    /// It has ended, with the cluster's reason; empty if there is none.
    Ended(String),
}

impl PodState {
    /// Returns the state of a pod.
    pub(super) fn of(pod: &Pod) -> Self {
        let Some(status) = &pod.status else { return Self::Starting };
        if pod.metadata.deletion_timestamp.is_some() {
            return Self::Ended(ending(status).unwrap_or_else(|| "it is being deleted".to_owned()));
        }
        if matches!(status.phase.as_deref(), Some("Failed" | "Succeeded")) {
            return Self::Ended(ending(status).unwrap_or_default());
        }
        if let Some(why) = containers(status).find_map(hopeless) {
            return Self::Hopeless(why);
        }
        let ours = status.container_statuses.iter().flatten().find(|container| container.name == plan::CONTAINER);
        if ours.is_some_and(|container| container.state.as_ref().is_some_and(|state| state.running.is_some())) {
            return Self::Running;
        }
        // It never starts again, and the phase of the pod follows some time later.
        if ours.is_some_and(|container| container.state.as_ref().is_some_and(|state| state.terminated.is_some())) {
            return Self::Ended(ending(status).unwrap_or_default());
        }
        let scheduled = status.conditions.iter().flatten().find(|condition| condition.type_ == "PodScheduled");
        match scheduled {
            Some(condition) if condition.status == "False" && condition.reason.as_deref() == Some("Unschedulable") => {
                Self::Unschedulable(errors::shown(condition.message.as_deref().unwrap_or_default()))
            }
            _ => Self::Starting,
        }
    }
}

/// Whether the node of a running pod no longer reports to the cluster. The node controller says so by the condition
/// `Ready` alone; a container that is not ready changes `ContainersReady` too, and a readiness gate gives a reason.
pub(super) fn is_cut_off(pod: &Pod) -> bool {
    let conditions = || pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions().find(|condition| condition.type_ == "Ready");
    ready.is_some_and(|ready| ready.status == "False" && ready.reason.as_deref().unwrap_or_default().is_empty())
        && conditions().any(|condition| condition.type_ == "ContainersReady" && condition.status == "True")
}

fn containers(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    status.init_container_statuses.iter().flatten().chain(status.container_statuses.iter().flatten())
}

/// Returns why a container cannot start.
fn hopeless(container: &ContainerStatus) -> Option<String> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref().filter(|reason| HOPELESS.contains(reason))?;
    Some(said(reason, waiting.message.as_deref()))
}

/// Returns why a pod has ended, if the cluster reports it.
fn ending(status: &PodStatus) -> Option<String> {
    if let Some(reason) = status.reason.as_deref().filter(|reason| !reason.is_empty()) {
        return Some(said(reason, status.message.as_deref()));
    }
    // Why the cluster ends a pod: its node is lost or drained, or another pod needs the place.
    let conditions = status.conditions.iter().flatten();
    let mut disruptions =
        conditions.filter(|condition| condition.type_ == "DisruptionTarget" && condition.status == "True");
    if let Some(disruption) = disruptions.next() {
        return Some(said(disruption.reason.as_deref().unwrap_or("DisruptionTarget"), disruption.message.as_deref()));
    }
    let ended = containers(status).filter_map(|container| container.state.as_ref()?.terminated.as_ref());
    let mut ended = ended.filter(|ended| ended.exit_code != 0 || ended.reason.as_deref() == Some("OOMKilled"));
    ended.next().map(|ended| {
        let reason = ended.reason.as_deref().unwrap_or("Error");
        match (reason, ended.message.as_deref()) {
            ("Error", None) => format!("its first process exited with code {}", ended.exit_code),
            (reason, message) => said(reason, message),
        }
    })
}

fn said(reason: &str, message: Option<&str>) -> String {
    match message.map(errors::shown).filter(|message| !message.is_empty()) {
        Some(message) => format!("{}: {message}", errors::shown(reason)),
        None => errors::shown(reason),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(status: serde_json::Value) -> PodState {
        PodState::of(&serde_json::from_value(json!({"metadata": {}, "status": status})).unwrap())
    }

    fn waiting(reason: &str, message: &str) -> serde_json::Value {
        json!({"phase": "Pending", "containerStatuses": [{
            "name": "workden", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": reason, "message": message}}}]})
    }

    #[test]
    fn the_clusters_reason_is_found() {
        assert_eq!(state(json!({"phase": "Pending"})), PodState::Starting);
        assert_eq!(state(waiting("ContainerCreating", "")), PodState::Starting);
        let hopeless = PodState::Hopeless("ErrImagePull: not found".to_owned());
        assert_eq!(state(waiting("ErrImagePull", "not found")), hopeless);
        let evicted = state(json!({"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory."}));
        assert_eq!(evicted, PodState::Ended("Evicted: The node was low on memory.".to_owned()));
        let killed = json!({"phase": "Failed", "containerStatuses": [{
            "name": "workden", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137}}}]});
        assert_eq!(state(killed.clone()), PodState::Ended("OOMKilled".to_owned()));
        let mut early = killed;
        early["phase"] = json!("Running");
        assert_eq!(state(early), PodState::Ended("OOMKilled".to_owned()));
        let nowhere = json!({"phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]});
        assert_eq!(state(nowhere), PodState::Unschedulable("0/1 nodes".to_owned()));
        assert_eq!(state(json!({"phase": "Succeeded"})), PodState::Ended(String::new()));
        let drained = json!({"phase": "Succeeded", "conditions": [{"type": "DisruptionTarget", "status": "True",
            "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}]});
        assert_eq!(state(drained), PodState::Ended("EvictionByEvictionAPI: Eviction API: evicting".to_owned()));
    }

    #[test]
    fn a_pod_of_a_lost_node_is_told_from_one_that_is_not_ready() {
        for (ready, containers_ready, reason, expected) in [
            ("False", "True", "", true),
            ("True", "True", "", false),
            ("False", "False", "ContainersNotReady", false),
            ("False", "True", "ReadinessGatesNotReady", false),
        ] {
            let conditions = json!([{"type": "Ready", "status": ready, "reason": reason},
                {"type": "ContainersReady", "status": containers_ready}]);
            let pod = json!({"metadata": {}, "status": {"phase": "Running", "conditions": conditions}});
            assert_eq!(
                is_cut_off(&serde_json::from_value(pod).unwrap()),
                expected,
                "{ready} {containers_ready} {reason}"
            );
        }
    }
}
