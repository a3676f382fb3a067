//! A Podman that serves Docker's API, beside the daemon.
//!
//! It has its own mount and network namespaces: Podman creates bridges, packet filter rules and mounts on the machine,
//! and removes none of them. So its containers reach each other, and nothing outside.

use std::fs;

use super::{
    service::{Plan, Service},
    short_directory,
};
use crate::Outcome;

/// Runs before Podman: brings up the loopback, and hides the state of network plugins.
const ENTER: &str = r#"
ip link set lo up
for place in /var/lib/cni /run/netns; do mkdir -p "$place" && mount -t tmpfs none "$place"; done
exec "$@"
"#;

/// The limit that Podman requests by default.
const PODMANS_OWN: u64 = 1_048_576;

/// Starts it, and returns its address.
pub(super) fn start() -> Outcome<(Service, String)> {
    let home = short_directory("podman")?;
    let at = |name: &str| home.join(name).display().to_string();
    let host = format!("unix://{}", at("podman.sock"));
    println!("=== Podman: its service at {host}");
    let cannot = |error: std::io::Error| format!("cannot fill {}: {error}", home.display());
    fs::create_dir(home.join("temporary")).map_err(cannot)?;
    fs::write(home.join("containers.conf"), settings(&at("networks"))).map_err(cannot)?;
    let mut command: Vec<String> = ["unshare", "--net", "--mount", "--propagation", "slave"].map(Into::into).into();
    command.extend(["sh", "-c", ENTER, "sh", "env"].map(Into::into));
    command.push(format!("CONTAINERS_CONF={}", at("containers.conf")));
    command.push(format!("TMPDIR={}", at("temporary")));
    command.push("podman".to_owned());
    for (option, name) in [("--root", "data"), ("--runroot", "run"), ("--tmpdir", "state")] {
        command.extend([option.to_owned(), at(name)]);
    }
    command.extend(["system", "service", "--time=0", &host].map(Into::into));
    let service = Service::start(Plan { host: host.clone(), home, data: None, bridge: None, command })?;
    Ok((service, host))
}

/// Settings that work without systemd, and where root may not raise its own limits.
fn settings(networks: &str) -> String {
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files = hard_limit(&limits, "Max open files").min(PODMANS_OWN);
    // Podman requests no more processes than there are process ids, and a container cannot have more.
    let numbers = fs::read_to_string("/proc/sys/kernel/pid_max").ok().and_then(|text| text.trim().parse().ok());
    let processes = hard_limit(&limits, "Max processes").min(numbers.unwrap_or(PODMANS_OWN));
    format!(
        "[containers]\n\
         default_ulimits = [\"nofile={files}:{files}\", \"nproc={processes}:{processes}\"]\n\
         [engine]\n\
         cgroup_manager = \"cgroupfs\"\n\
         events_logger = \"file\"\n\
         [network]\n\
         network_config_dir = \"{networks}\"\n"
    )
}

/// Returns a hard limit from `/proc/self/limits`.
fn hard_limit(limits: &str, name: &str) -> u64 {
    let line = limits.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(PODMANS_OWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_the_hard_one_and_none_is_podmans_own() {
        let limits = "Limit                     Soft Limit           Hard Limit           Units     \n\
                      Max processes             10                   20                   processes \n\
                      Max open files            1024                 unlimited            files     \n";
        assert_eq!(hard_limit(limits, "Max processes"), 20);
        assert_eq!(hard_limit(limits, "Max open files"), PODMANS_OWN);
        assert_eq!(hard_limit("", "Max processes"), PODMANS_OWN);
    }
}
