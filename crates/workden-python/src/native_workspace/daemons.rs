//! Daemons and container keepers, shared by all containers of a process: one connection, one queue for expensive work
//! of the daemon, and a keeper that was read and hashed once.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use serde::Deserialize;
use workden::sandboxes::{
    HostEnvironment,
    docker::{ContainerKeepers, Daemon},
};
use workden_core::Result;

use crate::per_process::PerProcess;

/// Environment variables that choose the daemon and the keeper.
const DECIDE: [&str; 6] =
    ["DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "HOME", "XDG_RUNTIME_DIR", "WORKDEN_KEEPER"];
/// Prefix of the keepers in a directory.
const NAMES: [&str; 2] = ["workden-keeper-amd64", "workden-keeper-arm64"];

/// The daemon, and the keepers for its containers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Daemons {
    /// The address of the daemon; by default from the environment.
    host: Option<String>,
    /// The program `workden`, which is a keeper itself if it is static, and may have others beside it.
    keeper: Option<PathBuf>,
    /// A directory with a keeper for each architecture.
    keepers: Option<PathBuf>,
}

struct Known {
    config: Daemons,
    decided_by: Vec<Option<String>>,
    both: (Daemon, ContainerKeepers),
}

static KNOWN: PerProcess<Mutex<Vec<Known>>> = PerProcess::new();

/// Returns the daemon and the keepers, shared between equal configurations.
pub(super) fn of_this_process(config: &Daemons) -> Result<(Daemon, ContainerKeepers)> {
    let host = HostEnvironment::from_process();
    let decided_by: Vec<_> = DECIDE.iter().map(|name| host.variable(name).map(str::to_owned)).collect();
    let mut known = KNOWN.get_or_make(|| Ok(Mutex::default()))?.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.iter().find(|known| known.config == *config && known.decided_by == decided_by) {
        return Ok(same.both.clone());
    }
    let daemon = match &config.host {
        Some(address) => Daemon::at(address)?,
        None => Daemon::of_environment(&host)?,
    };
    let both = (daemon, keepers(config.keeper.as_ref(), config.keepers.as_ref(), &host));
    known.push(Known { config: config.clone(), decided_by, both: both.clone() });
    Ok(both)
}

/// Returns the keepers of the program `workden`, and those in this directory.
pub(super) fn keepers(
    program: Option<&PathBuf>,
    directory: Option<&PathBuf>,
    host: &HostEnvironment,
) -> ContainerKeepers {
    let found = ContainerKeepers::found(host, program.map_or(Path::new(""), PathBuf::as_path));
    let named = directory.into_iter().flat_map(|directory| NAMES.map(|name| directory.join(name)));
    named.fold(found, ContainerKeepers::and)
}
