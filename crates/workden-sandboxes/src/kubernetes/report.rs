//! Reports what isolates the commands of a pod: what the keeper sees from inside, and what the pod's specification
//! says.

use k8s_openapi::api::core::v1::{Pod, PodSpec, SecurityContext};
use workden_core::sandbox::{Isolation, Wall};

use super::{labels, plan, reach::Reach};

/// Completes the keeper's report with the pod's specification.
pub(super) fn complete(mut seen: Isolation, pod: &Pod, way: Option<Reach>) -> Isolation {
    let spec = pod.spec.clone().unwrap_or_default();
    let own = spec.containers.iter().find(|container| container.name == plan::CONTAINER);
    let own = own.and_then(|container| container.security_context.clone()).unwrap_or_default();
    let mut stands = |wall, does: bool, otherwise: &str| {
        if does {
            seen.walls.push(wall);
        } else {
            seen.lacking.push(otherwise.to_owned());
        }
    };
    let privileged = own.privileged == Some(true);
    stands(Wall::MountNamespace, !privileged, "the container is privileged: its root is the node's root");
    let shares = |named: Option<bool>| named == Some(true);
    stands(Wall::PidNamespace, !shares(spec.host_pid), "commands see the processes of the node");
    stands(Wall::IpcNamespace, !shares(spec.host_ipc), "commands share memory with processes of the node");
    stands(Wall::UtsNamespace, !shares(spec.host_network), "the name of the node is shared");
    stands(Wall::Seccomp, !privileged && is_filtered(&spec, &own), "all system calls are allowed");
    let no_more = own.allow_privilege_escalation == Some(false);
    stands(
        Wall::NoCapabilities,
        !privileged && no_more && is_unprivileged(&spec, &own),
        "commands could gain privileges",
    );
    let network = pod.metadata.labels.as_ref().and_then(|labels| labels.get(labels::NETWORK).cloned());
    seen.lacking.push(match network.as_deref() {
        _ if shares(spec.host_network) => "commands have the network of the node".to_owned(),
        Some("none") => "the network is closed only if a NetworkPolicy of the cluster closes it".to_owned(),
        _ => "commands have the network of the cluster, as far as its NetworkPolicies allow".to_owned(),
    });
    seen.reached_by = way.map(|way| way.to_string());
    seen
}

fn is_filtered(spec: &PodSpec, own: &SecurityContext) -> bool {
    let of_pod = spec.security_context.as_ref().and_then(|context| context.seccomp_profile.as_ref());
    let profile = own.seccomp_profile.as_ref().or(of_pod);
    profile.is_some_and(|profile| profile.type_ != "Unconfined")
}

fn is_unprivileged(spec: &PodSpec, own: &SecurityContext) -> bool {
    let of_pod = spec.security_context.as_ref();
    let user = own.run_as_user.or_else(|| of_pod?.run_as_user);
    let non_root = own.run_as_non_root.or_else(|| of_pod?.run_as_non_root);
    let (drop, add) = own.capabilities.as_ref().map_or((None, None), |some| (some.drop.clone(), some.add.clone()));
    let dropped = drop.unwrap_or_default().iter().any(|name| name == "ALL") && add.unwrap_or_default().is_empty();
    dropped && (non_root == Some(true) || user.is_some_and(|user| user != 0))
}
