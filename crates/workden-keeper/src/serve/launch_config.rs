//! Turns the target of a launch into a `KeeperConfig`.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use rustix::process::{DumpableBehavior, Pid, getpid, set_child_subreaper, set_dumpable_behavior};
use workden_core::{
    Result,
    sandbox::{Isolation, IsolationLevel, Wall},
};
use workden_wire::LaunchTarget;

use crate::{
    cgroup::OwnGroup,
    config::{Children, KeeperConfig, Logs, OomPreference},
    confine, offline,
};

/// Prepares the target. The sandbox ends with the process `owner`, if one is given; `directory` is a directory of the
/// host that is removed with the sandbox.
pub(super) fn prepare(target: LaunchTarget, owner: Option<Pid>, directory: Option<PathBuf>) -> Result<KeeperConfig> {
    match target {
        LaunchTarget::Host { root, directory, environment } => {
            // The keeper has no environment of its own.
            let temporary = environment.get("TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
            Ok(KeeperConfig {
                files_root: root,
                logs: Logs::Unseen(temporary),
                children: adopt(),
                ..KeeperConfig::host(directory, environment)
            })
        }
        LaunchTarget::Linux(confinement) => confine::enter_leased(&confinement, owner, directory),
        LaunchTarget::Container { directory, environment } => Ok(container(directory, environment)),
    }
}

/// Returns the configuration of a container as it is.
pub(super) fn container(directory: PathBuf, mut environment: BTreeMap<String, String>) -> KeeperConfig {
    let first = getpid().is_init();
    let lacking = "the keeper is not PID 1 of its container: commands can kill it".to_owned();
    let group = OwnGroup::read();
    let network = offline::network_of_container();
    offline::add_settings(&mut environment, network);
    KeeperConfig {
        files_root: "/".into(),
        children: adopt(),
        isolation: Isolation::new(IsolationLevel::Container)
            .walls(if first { vec![Wall::ProtectedKeeper] } else { Vec::new() })
            .lacking(if first { Vec::new() } else { vec![lacking] })
            .limits(group.reports()),
        network,
        limits: group.limits,
        watch: Some(Arc::new(group.watch)),
        oom_preference: OomPreference::CommandsFirst,
        ..KeeperConfig::host(directory, environment)
    }
}

/// Makes this process opaque to commands, and the subreaper of orphans.
fn adopt() -> Children {
    // Not dumpable is best effort. PID 1 adopts orphans anyway.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    match set_child_subreaper(Some(getpid())) {
        Ok(()) => Children::CommandsOnly,
        Err(_) => Children::OthersToo,
    }
}
