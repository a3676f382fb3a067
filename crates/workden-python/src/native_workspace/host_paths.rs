//! Host paths that sandboxes of every kind show to commands, or hide from them.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;
use workden::sandboxes::GitFiles;
use workden::{ProtectedNames, WorkspaceBuilder};
use workden_core::{
    Result,
    sandbox::{Mount, MountAccess},
};

use crate::failure;

/// A file or directory of the host, or a volume of the daemon.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostPath {
    pub(super) source: PathBuf,
    pub(super) at: String,
    pub(super) access: MountAccess,
}

/// Whether commands and file calls may change files that git and other host programs execute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum GitFilesOption {
    #[default]
    Protected,
    Writable,
}

impl GitFilesOption {
    pub(super) fn git_files(self) -> GitFiles {
        match self {
            Self::Protected => GitFiles::Protected,
            Self::Writable => GitFiles::Writable,
        }
    }

    /// The same for file calls, which the sandbox does not restrict.
    pub(super) fn held(self, mut builder: WorkspaceBuilder, mounts: &[Mount]) -> WorkspaceBuilder {
        let writable = mounts.iter().filter(|mount| mount.access == MountAccess::ReadWrite);
        for mount in writable.filter(|_| self == Self::Protected) {
            builder = builder.protected_names(&mount.at, ProtectedNames::host_executed());
        }
        builder
    }
}

/// Bytes: a number of them, or as people write it, `512M`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "WrittenSize")]
pub(super) struct Size(pub(super) u64);

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenSize {
    Bytes(u64),
    Text(String),
}

impl TryFrom<WrittenSize> for Size {
    type Error = workden_core::Error;

    fn try_from(written: WrittenSize) -> Result<Self> {
        match written {
            WrittenSize::Bytes(bytes) => Ok(Self(bytes)),
            WrittenSize::Text(text) => workden_core::parse_size(&text).map(Self),
        }
    }
}

/// Seconds, as Python counts them.
pub(super) fn seconds(what: &str, time: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(time).map_err(|error| failure::invalid(what, error))
}
