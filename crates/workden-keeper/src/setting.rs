//! `Setting`: what every command of a keeper is started with. Made by whoever prepared the ground
//! (the host as it is, namespaces, a container), used by whoever starts processes.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use rustix::process::Resource;
use workden_core::sandbox::{Isolation, Limits};

use crate::cgroup::{Join, Watch};

/// What every command of a keeper is started with.
#[derive(Debug)]
pub struct Setting {
    /// What is `/` to file calls, as this process sees it.
    pub files_root: PathBuf,
    /// Where commands start, as this process sees it.
    pub directory: PathBuf,
    /// A directory for the logs of commands, as this process sees it.
    pub logs: PathBuf,
    /// The environment of commands.
    pub environment: BTreeMap<String, String>,
    /// What each process is limited to by the kernel.
    pub rlimits: Vec<(Resource, u64)>,
    /// How a command gets into the group that holds the limits of all together.
    pub join: Join,
    /// A filter of system calls that each command gets besides the keeper's own, as the kernel takes
    /// it; empty where there is none. After everything else, just before the command is run.
    pub command_filter: Vec<seccompiler::sock_filter>,
    /// What the group counts.
    pub watch: Watch,
    /// How long the keeper may live.
    pub wall_clock: Option<Duration>,
    /// How long it lives while nobody asks anything of it and nothing runs.
    pub idle: Option<Duration>,
    /// The limits as they were asked for, for sentences about them.
    pub limits: Limits,
    /// What was enforced.
    pub isolation: Isolation,
}
