//! The Docker daemon: an existing one, or our own with a private socket, state and data.
//!
//! Our own runs in a mount namespace, so that its mounts are not visible outside and do not outlive it. It has gVisor as
//! a second runtime, `runsc`.

use std::{env, fs, path::Path};

use super::{
    answers, large_directory,
    network::{self, Network},
    new_directory,
    service::{Plan, Service},
    short_directory,
};
use crate::Outcome;

/// The socket of an installed daemon.
const USUAL: &str = "unix:///var/run/docker.sock";

/// gVisor without virtualisation, which a machine may lack. Debian's version does not know the network namespaces of a
/// recent kernel, and is given the sockets of the container's namespace; limits are those of its control group.
const RUNTIMES: &str = r#"{"runtimes": {"runsc": {"path": "runsc",
    "runtimeArgs": ["--platform=ptrace", "--network=host", "--ignore-cgroups"]}}}"#;

/// A daemon that answers.
pub(super) struct Daemon {
    /// Its address.
    pub(super) host: String,
    /// Ends it, if it is ours.
    _own: Option<Service>,
}

pub(super) fn find_or_start() -> Outcome<Daemon> {
    let named = env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
    if let Some(host) = named.into_iter().chain([USUAL.to_owned()]).find(|host| answers(host)) {
        println!("=== Docker: the daemon at {host}");
        return Ok(Daemon { host, _own: None });
    }
    println!("=== Docker: no daemon answers, starting one");
    let mut why = Vec::new();
    for network in network::to_try() {
        if let Network::OwnBridge(name) = &network
            && let Err(error) = network::make_bridge(name)
        {
            why.push(error);
            continue;
        }
        match start(&network) {
            Ok(daemon) => {
                println!("=== Docker: a daemon with {} at {}", network.words(), daemon.host);
                return Ok(daemon);
            }
            Err(error) => why.push(format!("with {}: {error}", network.words())),
        }
    }
    let hint = "hint: run as root to start one, or set DOCKER_HOST=unix:///run/docker.sock to use a running one";
    Err(format!("Docker daemon not found, and none can be started\n{}\n{hint}", why.join("\n")))
}

fn start(network: &Network) -> Outcome<Daemon> {
    let short = short_directory("docker")?;
    let data = new_directory(&large_directory()?.join(format!("data-{}", std::process::id())))?;
    let host = format!("unix://{}", short.join("docker.sock").display());
    let at = |path: &Path| path.display().to_string();
    let mut command: Vec<String> = ["unshare", "--mount", "--propagation", "slave", "dockerd"].map(Into::into).into();
    command.extend(["--host".to_owned(), host.clone(), "--data-root".to_owned(), at(&data)]);
    let settings = short.join("settings.json");
    fs::write(&settings, RUNTIMES).map_err(|error| format!("cannot write {}: {error}", settings.display()))?;
    command.extend(["--config-file".to_owned(), at(&settings)]);
    command.extend(["--exec-root".to_owned(), at(&short.join("exec"))]);
    command.extend(["--pidfile".to_owned(), at(&short.join("pid"))]);
    command.extend(network.arguments());
    let bridge = match network {
        Network::OwnBridge(name) => Some(name.clone()),
        Network::Usual | Network::None => None,
    };
    let own = Service::start(Plan { host: host.clone(), home: short, data: Some(data), bridge, command })?;
    if let Network::OwnBridge(name) = network {
        network::open_bridge(name)?;
    }
    Ok(Daemon { host, _own: Some(own) })
}
