//! Reports what isolates the commands of a container: what the keeper sees from inside, and the settings that the
//! daemon reports.

use bollard::models::ContainerInspectResponse;
use workden_core::sandbox::{Isolation, Wall};

use super::labels;

/// Completes the keeper's report with the daemon's.
pub(super) fn complete(mut seen: Isolation, found: &ContainerInspectResponse) -> Isolation {
    let host = found.host_config.clone().unwrap_or_default();
    let user = found.config.as_ref().and_then(|config| config.user.clone()).unwrap_or_default();
    if host.privileged == Some(true) {
        seen.lacking.push("the container is privileged: its root is the machine's root".to_owned());
    }
    let its_labels = found.config.as_ref().and_then(|config| config.labels.as_ref());
    seen.lacking.extend(its_labels.and_then(|labels| labels.get(labels::LACKING)).cloned());
    let mut stands = |wall, does: bool, otherwise: &str| {
        if does {
            seen.walls.push(wall);
        } else {
            seen.lacking.push(otherwise.to_owned());
        }
    };
    let shares = |mode: &Option<String>| mode.as_deref() == Some("host");
    stands(Wall::MountNamespace, true, "");
    stands(Wall::PidNamespace, !shares(&host.pid_mode), "commands see the processes of the machine");
    stands(Wall::IpcNamespace, !shares(&host.ipc_mode), "commands share memory with processes of the machine");
    stands(Wall::UtsNamespace, !shares(&host.uts_mode), "the name of the machine is shared");
    let network = host.network_mode.clone().unwrap_or_default();
    stands(Wall::NetworkNamespace, network == "none", &format!("there is a network: `{}`", shown(&network)));
    let options = host.security_opt.clone().unwrap_or_default();
    let is_set = |name: &str| options.iter().any(|option| option == name);
    let filtered = host.privileged != Some(true) && !is_set("seccomp=unconfined") && !is_set("seccomp:unconfined");
    stands(Wall::Seccomp, filtered, "all system calls are allowed");
    let is_root = user.is_empty() || user == "root" || user == "0" || user.starts_with("0:");
    let dropped = host.cap_drop.clone().unwrap_or_default().iter().any(|name| name.eq_ignore_ascii_case("all"));
    let added = host.cap_add.clone().unwrap_or_default();
    let no_more = is_set("no-new-privileges") || is_set("no-new-privileges:true");
    let has_none = (!is_root || (dropped && added.is_empty())) && no_more;
    let which = match (dropped, added.is_empty()) {
        (true, false) => format!("commands run as the container's root, with {}", added.join(", ")),
        (true, true) => "commands could gain privileges".to_owned(),
        (false, _) if is_root => {
            "commands run as the container's root, with the daemon's usual capabilities".to_owned()
        }
        (false, _) => "commands could gain privileges: `no-new-privileges` is not set".to_owned(),
    };
    stands(Wall::NoCapabilities, has_none, &which);
    seen
}

/// Returns the display name of a network.
fn shown(network: &str) -> &str {
    if network.is_empty() || network == "default" { "bridge" } else { network }
}

#[cfg(test)]
mod tests {
    use bollard::models::{ContainerConfig, HostConfig};
    use workden_core::sandbox::IsolationLevel;

    use super::*;

    fn report(host: HostConfig, user: &str) -> Isolation {
        let seen = Isolation::new(IsolationLevel::Container);
        let config = ContainerConfig { user: Some(user.to_owned()), ..ContainerConfig::default() };
        let found = ContainerInspectResponse {
            host_config: Some(host),
            config: Some(config),
            ..ContainerInspectResponse::default()
        };
        complete(seen, &found)
    }

    #[test]
    fn what_was_given_is_what_is_told() {
        let hardened = HostConfig {
            network_mode: Some("none".to_owned()),
            security_opt: Some(vec!["no-new-privileges".to_owned()]),
            cap_drop: Some(vec!["ALL".to_owned()]),
            ..HostConfig::default()
        };
        let told = report(hardened.clone(), "1000:1000");
        assert!(told.lacking.is_empty(), "{told:?}");
        assert!(told.walls.contains(&Wall::NoCapabilities) && told.walls.contains(&Wall::NetworkNamespace));

        let few = HostConfig { cap_add: Some(vec!["CHOWN".to_owned()]), ..hardened };
        let told = report(few, "");
        assert_eq!(told.lacking, ["commands run as the container's root, with CHOWN"]);

        let told = report(HostConfig::default(), "");
        assert!(told.lacking.iter().any(|why| why.contains("`bridge`")), "{told:?}");
        let privileged =
            HostConfig { privileged: Some(true), pid_mode: Some("host".to_owned()), ..HostConfig::default() };
        let told = report(privileged, "root");
        assert!(told.lacking.iter().any(|why| why.contains("privileged")), "{told:?}");
        assert!(!told.walls.contains(&Wall::PidNamespace) && !told.walls.contains(&Wall::Seccomp));
    }
}
