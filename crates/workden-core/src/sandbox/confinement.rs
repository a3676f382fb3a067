//! `Confinement`: what a sandbox is given. What it may read, write and reach, and how much; plain
//! data, made by the code that assembles a workspace, carried out by the keeper.
//!
//! Paths of the host are `PathBuf`s here and never leave towards a model.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use crate::VirtualPath;

/// What a sandbox is given. What is not here is not there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confinement {
    /// What its walls are made of.
    #[serde(default)]
    pub level: Level,
    /// Where programs and libraries come from.
    pub root: RootFiles,
    /// The files that are worked on.
    pub work: WorkFiles,
    /// Where commands see them, and start; `/` at [`Level::Landlock`], where commands see the
    /// host's own paths.
    pub directory: VirtualPath,
    /// What else is there.
    pub mounts: Vec<Mount>,
    /// Places that commands may read but not change, whatever is mounted there; those that do not
    /// exist are left out.
    pub read_only: Vec<VirtualPath>,
    /// Links to git directories that stay what they are: commands see a file there that names the same
    /// place, since nothing else can be held where a link is. Those that do not exist are left out.
    #[serde(default)]
    pub git_links: Vec<VirtualPath>,
    /// Places that are covered by nothing readable; those that do not exist are left out.
    pub masked: Vec<VirtualPath>,
    /// What can be reached.
    pub network: Network,
    /// The whole environment of commands.
    pub environment: BTreeMap<String, String>,
    /// How much of everything.
    pub limits: Limits,
}

/// What the walls of a Linux sandbox are made of. The weaker level is never chosen by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Namespaces with a root of their own, seccomp, and Landlock where the kernel has it.
    #[default]
    Namespaces,
    /// Landlock (version 6 or newer, so Linux 6.12) and seccomp alone, for machines that forbid
    /// namespaces. Commands run on the host's own paths, of which they read and write what was given:
    ///
    /// - The work directory is `/` to file calls, and is where it is on the host to commands. A mount
    ///   can only be shown at the path that it has.
    /// - No process can be signalled or traced but those of the sandbox, and none can be seen: `/proc`
    ///   has no processes at all, not even the command's own.
    /// - There are no sockets but connected pairs without a network, and no Unix sockets with one.
    /// - Not held: that files outside exist, how large and how old they are, can be asked for by
    ///   name; their modes and times can be changed where the user may; read-only and masked places
    ///   inside of the work directory cannot be had; a command can end its own sandbox.
    Landlock,
}

/// Where programs and libraries come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootFiles {
    /// The host's /usr and what belongs to it, read-only, and of its /etc a few files.
    Host,
    /// A directory that holds a root file system, read-only.
    Directory(PathBuf),
}

/// The files that are worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkFiles {
    /// A directory of the host.
    Directory(PathBuf),
    /// An empty place that ends with the sandbox, in memory, of at most so many bytes.
    Ephemeral {
        /// The most it holds.
        most_bytes: u64,
    },
}

/// A file or directory of the host that a sandbox shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// What.
    pub source: PathBuf,
    /// Where.
    pub at: VirtualPath,
    /// What may be done there.
    pub access: Access,
}

/// What may be done in a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reading, and running what is in it.
    ReadOnly,
    /// Everything.
    ReadWrite,
}

/// What can be reached over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing but a loopback of its own.
    #[default]
    None,
    /// Whatever the host reaches, its own loopback included.
    Host,
}

/// How much of everything. `None` for no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Bytes of memory of all commands together, swap included.
    pub memory: Option<Limit<u64>>,
    /// Processors: 1.5 is one and a half.
    pub cpus: Option<Limit<f64>>,
    /// Processes and threads of all commands together.
    pub processes: Option<Limit<u64>>,
    /// Files that one process may have open.
    pub open_files: Option<Limit<u64>>,
    /// Bytes that one file may have.
    pub file_size: Option<Limit<u64>>,
    /// Bytes that /tmp holds.
    pub tmp_size: Option<Limit<u64>>,
    /// How long the sandbox may live.
    pub wall_clock: Option<Limit<Duration>>,
    /// How long it lives without a request and without a running command.
    pub idle: Option<Limit<Duration>>,
}

/// A limit, and what happens to the sandbox when it cannot be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit<T> {
    /// How much.
    pub value: T,
    /// Whether the sandbox does without.
    pub strength: Strength,
}

impl<T> Limit<T> {
    /// A limit without which the sandbox does not start.
    pub fn required(value: T) -> Self {
        Self { value, strength: Strength::Required }
    }

    /// A limit that is held where it can be, and reported where not.
    pub fn best_effort(value: T) -> Self {
        Self { value, strength: Strength::BestEffort }
    }
}

/// What happens to a sandbox when a limit cannot be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// It does not start.
    Required,
    /// It starts, and its isolation says so.
    BestEffort,
}
