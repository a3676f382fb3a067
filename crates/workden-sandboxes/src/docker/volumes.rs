//! What a container mounts: files of the host, and volumes of the daemon.

use std::path::PathBuf;

use bollard::models::{Mount, MountType};
use workden_core::{
    VirtualPath,
    sandbox::{Mount as Shown, MountAccess},
};

/// Files of the host, or a volume of the daemon, in a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) source: VolumeSource,
    pub(crate) at: String,
    pub(crate) access: MountAccess,
}

/// The source of a mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VolumeSource {
    /// A file or directory of the daemon's machine.
    Host(PathBuf),
    /// A volume of the daemon, by its name.
    Named(String),
}

impl Volume {
    pub(super) fn mount(&self) -> Mount {
        let (typ, source) = match &self.source {
            VolumeSource::Host(path) => (MountType::BIND, path.display().to_string()),
            VolumeSource::Named(name) => (MountType::VOLUME, name.clone()),
        };
        Mount {
            typ: Some(typ),
            source: Some(source),
            target: Some(self.at.clone()),
            read_only: Some(self.access == MountAccess::ReadOnly),
            ..Mount::default()
        }
    }
}

/// Returns the files of the host that commands will see, and where.
pub(super) fn shown_files(volumes: &[Volume]) -> Vec<Shown> {
    let shown = |volume: &Volume| match (&volume.source, VirtualPath::parse(&volume.at)) {
        (VolumeSource::Host(source), Ok(at)) => Some(Shown { source: source.clone(), at, access: volume.access }),
        _ => None,
    };
    volumes.iter().filter_map(shown).collect()
}
