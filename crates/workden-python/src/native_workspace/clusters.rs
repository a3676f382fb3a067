//! Clusters and the keepers for their pods, shared by all pods of a process: one connection, and a keeper that was read
//! and hashed once.

use std::{
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use serde::Deserialize;
use workden::sandboxes::{HostEnvironment, docker::ContainerKeepers, kubernetes::Cluster};
use workden_core::Result;

use super::daemons;
use crate::per_process::PerProcess;

/// Environment variables that choose the cluster and the keeper.
const DECIDE: [&str; 4] = ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HOME", "WORKDEN_KEEPER"];

/// The cluster, and the keepers for its pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Clusters {
    /// Whether to use the service account of this pod.
    in_cluster: bool,
    /// By default as the environment says.
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    namespace: Option<String>,
    /// The program `workden`, which is a keeper itself if it is static, and may have others beside it.
    keeper: Option<PathBuf>,
    /// A directory with a keeper for each architecture.
    keepers: Option<PathBuf>,
}

struct Known {
    config: Clusters,
    decided_by: Vec<Option<String>>,
    both: (Cluster, ContainerKeepers),
}

static KNOWN: PerProcess<Mutex<Vec<Known>>> = PerProcess::new();

/// Returns the cluster and the keepers, shared between equal configurations.
pub(super) fn of_this_process(config: &Clusters) -> Result<(Cluster, ContainerKeepers)> {
    let host = HostEnvironment::from_process();
    let decided_by: Vec<_> = DECIDE.iter().map(|name| host.variable(name).map(str::to_owned)).collect();
    let mut known = KNOWN.get_or_make(|| Ok(Mutex::default()))?.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(same) = known.iter().find(|known| known.config == *config && known.decided_by == decided_by) {
        return Ok(same.both.clone());
    }
    let mut cluster = match &config.kubeconfig {
        _ if config.in_cluster => Cluster::in_cluster(),
        Some(file) => Cluster::kubeconfig(file),
        None => Cluster::of_environment(&host),
    };
    if let Some(context) = &config.context {
        cluster = cluster.context(context);
    }
    if let Some(namespace) = &config.namespace {
        cluster = cluster.namespace(namespace);
    }
    let both = (cluster, daemons::keepers(config.keeper.as_ref(), config.keepers.as_ref(), &host));
    known.push(Known { config: config.clone(), decided_by, both: both.clone() });
    Ok(both)
}
