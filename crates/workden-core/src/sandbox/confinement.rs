//! `Confinement`: everything that a sandbox may read, write and reach, and its limits. It is plain data: the code that
//! assembles a workspace builds it, and the keeper enforces it.
//!
//! Host paths are `PathBuf`s here and are never shown to a model.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};

use super::GitIdentity;
use crate::VirtualPath;

/// Everything that a sandbox may use. Anything not listed is not available.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confinement {
    /// The isolation mechanisms.
    #[serde(default)]
    pub level: Level,
    /// The source of programs and libraries.
    pub root: RootFiles,
    /// The working files.
    pub work: WorkFiles,
    /// The directory at which commands see the working files, and in which they start; `/` at [`Level::Landlock`],
    /// where commands see the host's own paths.
    pub directory: VirtualPath,
    /// Further files and directories of the host.
    pub mounts: Vec<Mount>,
    /// The identities of sources that the launcher has open, by their paths in the sandbox. A source that is another
    /// file by now is refused.
    #[serde(default)]
    pub expected: BTreeMap<VirtualPath, InodeId>,
    /// Paths that commands may read but not change, whatever is mounted there; missing paths are ignored.
    pub read_only: Vec<VirtualPath>,
    /// Links to git directories that commands must not replace: commands see a file that names the same directory
    /// instead, because a link itself cannot be protected. Missing paths are ignored.
    #[serde(default)]
    pub git_links: Vec<VirtualPath>,
    /// Paths whose content is hidden from commands; missing paths are ignored.
    pub masked: Vec<VirtualPath>,
    /// The network access.
    pub network: Network,
    /// Who commits, unless a repository or a command says otherwise.
    #[serde(default)]
    pub git_identity: Option<GitIdentity>,
    /// The environment of commands. The keeper adds what is missing: a home, and settings for commands without a
    /// network.
    pub environment: BTreeMap<String, String>,
    /// The resource limits.
    pub limits: Limits,
}

/// The isolation mechanisms of a Linux sandbox. The weaker level is never chosen automatically.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Namespaces with a separate root, seccomp, and Landlock if the kernel supports it.
    #[default]
    Namespaces,
    /// Landlock (version 6 or newer, so Linux 6.12) and seccomp alone, for machines that forbid namespaces. Commands
    /// run on the host's own paths and can read and write only the granted ones:
    ///
    /// - File calls see the work directory as `/`, and commands see it at its host path. A mount can only be shown at
    ///   its host path.
    /// - Commands can signal and trace only processes of the sandbox, and can see none: `/proc` has no processes at
    ///   all, not even the command's own.
    /// - Without a network, the only sockets are connected pairs; with a network, Unix sockets are not available.
    /// - Not protected: commands can ask by name whether outside files exist and how large and old they are, and can
    ///   change their modes and times if the user may; read-only and masked paths inside the work directory are not
    ///   supported; a command can end its own sandbox.
    Landlock,
}

/// The source of programs and libraries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootFiles {
    /// The host's /usr and the directories that belong to it, read-only, and a few files of its /etc.
    Host,
    /// A directory with a root file system, read-only.
    Directory(PathBuf),
}

/// The working files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkFiles {
    /// A directory of the host.
    Directory(PathBuf),
    /// An empty directory in memory, of limited size, that is deleted with the sandbox.
    Ephemeral {
        /// The largest total size in bytes.
        most_bytes: u64,
    },
}

/// A file or directory of the host that a sandbox shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The host path.
    pub source: PathBuf,
    /// The path in the sandbox.
    pub at: VirtualPath,
    /// The allowed access.
    pub access: Access,
}

/// The identity of a file or directory of this machine, as long as it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InodeId {
    /// The device of its file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// The allowed access to a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reading files and running programs.
    ReadOnly,
    /// Full access.
    ReadWrite,
}

/// The network access of a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Only a private loopback.
    #[default]
    None,
    /// The host's network, including its loopback.
    Host,
}

/// The resource limits of a sandbox. `None` for no limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Bytes of memory of all commands together, swap included.
    pub memory: Option<Limit<u64>>,
    /// Processors: 1.5 means one and a half.
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
    /// How long the sandbox may live without a request and without a running command.
    pub idle: Option<Limit<Duration>>,
}

/// A limit, and the consequence if it cannot be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit<T> {
    /// The value of the limit.
    pub value: T,
    /// Whether the sandbox starts without the limit.
    pub strength: Strength,
}

impl<T> Limit<T> {
    /// Creates a limit without which the sandbox does not start.
    pub fn required(value: T) -> Self {
        Self { value, strength: Strength::Required }
    }

    /// Creates a limit that is enforced if possible, and otherwise reported as not enforced.
    pub fn best_effort(value: T) -> Self {
        Self { value, strength: Strength::BestEffort }
    }
}

/// The consequence for a sandbox if a limit cannot be enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// The sandbox does not start.
    Required,
    /// The sandbox starts, and its isolation report says so.
    BestEffort,
}
