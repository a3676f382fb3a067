//! The ground on which commands run: from what a launcher wants to a `Setting`.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use rustix::process::{DumpableBehavior, Pid, getpid, set_child_subreaper, set_dumpable_behavior};
use workden_core::{
    Result,
    sandbox::{Isolation, IsolationLevel, Wall},
};
use workden_wire::Ground;

use crate::{
    cgroup::OwnGroup,
    confine,
    setting::{Children, Logs, MemoryRunsOut, Setting},
};

/// Prepares the ground. `owner` is the process with which the sandbox ends, if it ends with one, and
/// `directory` one of the host's that ends with the sandbox.
pub(super) fn prepare(ground: Ground, owner: Option<Pid>, directory: Option<PathBuf>) -> Result<Setting> {
    match ground {
        Ground::Host { root, directory, environment } => {
            // The keeper has no environment of its own.
            let temporary = environment.get("TMPDIR").map_or_else(std::env::temp_dir, PathBuf::from);
            Ok(Setting {
                files_root: root,
                logs: Logs::Unseen(temporary),
                children: adopt(),
                ..Setting::host(directory, environment)
            })
        }
        Ground::Linux(confinement) => confine::enter_leased(&confinement, owner, directory),
        Ground::Container { directory, environment } => Ok(container(directory, environment)),
    }
}

/// A container as it is.
pub(super) fn container(directory: PathBuf, environment: BTreeMap<String, String>) -> Setting {
    let first = getpid().is_init();
    let lacking = "the keeper is not PID 1 of its container: commands can kill it".to_owned();
    let group = OwnGroup::look();
    Setting {
        files_root: "/".into(),
        children: adopt(),
        isolation: Isolation {
            level: IsolationLevel::Container,
            walls: if first { vec![Wall::ProtectedKeeper] } else { Vec::new() },
            lacking: if first { Vec::new() } else { vec![lacking] },
            limits: group.reports(),
        },
        limits: group.limits,
        watch: Some(Arc::new(group.watch)),
        memory_runs_out: MemoryRunsOut::CommandsFirst,
        ..Setting::host(directory, environment)
    }
}

/// Makes this process one that cannot be looked into, and to which orphans come.
fn adopt() -> Children {
    // No more than a hint where it is not allowed: the first process is a subreaper anyway.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    match set_child_subreaper(Some(getpid())) {
        Ok(()) => Children::CommandsOnly,
        Err(_) => Children::OthersToo,
    }
}
