//! The host paths that a sandbox without namespaces may use. Every path stays where it is on the host: nothing can be
//! mounted elsewhere, covered, or kept in memory.

use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::io::Errno;
use workden_core::{
    Error, ErrorKind,
    sandbox::{Confinement, Mount, MountAccess, RootFiles, WorkFiles},
};

use crate::confine::errors::{at_place, errno_of};

/// Directories of the machine that no sandbox gets as a whole.
const OF_MACHINE: [&str; 9] = ["/proc", "/sys", "/dev", "/run", "/etc", "/usr", "/var", "/tmp", "/home"];
/// Directories of which no sandbox gets any part.
const OF_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// The paths that a sandbox may use, as they are on the host.
pub(super) struct LandlockPaths {
    /// The directory to work in.
    pub(super) work: PathBuf,
    /// Its owner: user and group.
    pub(super) owner: (u32, u32),
    pub(super) mounts: Vec<(PathBuf, MountAccess)>,
}

impl LandlockPaths {
    /// Looks the paths up. Rejects everything that this level does not support.
    pub(super) fn look_up(confinement: &Confinement) -> Result<Self, Error> {
        if confinement.root != RootFiles::Host {
            return Err(not_supported("another root file system"));
        }
        if let Some(place) = confinement.masked.first() {
            return Err(not_supported(&format!("masking `{place}`")));
        }
        if let Some(place) = confinement.read_only.first() {
            return Err(not_supported(&format!("the read-only path `{place}`")));
        }
        let WorkFiles::Directory(work) = &confinement.work else {
            return Err(not_supported("a workspace in memory").hint("name a directory to work in"));
        };
        let (work, there) = real(work).map_err(|errno| at_place("/", errno))?;
        if !there.is_dir() {
            return Err(at_place("/", Errno::NOTDIR));
        }
        refuse_machine(&work, "/")?;
        let mounts = confinement.mounts.iter().map(mounted).collect::<Result<Vec<_>, _>>()?;
        // Landlock cannot revoke below a directory what it grants above.
        let writable = |path: &Path| {
            let mut above =
                mounts.iter().filter(|(_, access)| *access == MountAccess::ReadWrite).map(|(above, _)| above);
            path.starts_with(&work) || above.any(|above| path.starts_with(above))
        };
        for (mount, (path, access)) in confinement.mounts.iter().zip(&mounts) {
            if *access == MountAccess::ReadOnly && writable(path) {
                return Err(not_supported(&format!("the read-only path `{}` in a writable one", mount.at)));
            }
        }
        Ok(Self { work, owner: (there.uid(), there.gid()), mounts })
    }
}

/// Returns the path of a mount, which must be the same inside and outside.
fn mounted(mount: &Mount) -> Result<(PathBuf, MountAccess), Error> {
    let at = mount.at.as_str();
    let (source, _) = real(&mount.source)
        .map_err(|errno| at_place(at, errno).hint("name a path of the host that exists and that you may read"))?;
    if !real(Path::new(at)).is_ok_and(|(there, _)| there == source) {
        return Err(not_supported(&format!("mounting at `{at}` a path that is elsewhere on the host"))
            .hint("use the same path on both sides, `SRC:SRC`"));
    }
    refuse_machine(&source, at)?;
    Ok((source, mount.access))
}

fn real(path: &Path) -> Result<(PathBuf, std::fs::Metadata), Errno> {
    let real = path.canonicalize().map_err(|error| errno_of(&error))?;
    let there = real.metadata().map_err(|error| errno_of(&error))?;
    Ok((real, there))
}

/// Rejects paths that would leave no wall standing.
fn refuse_machine(path: &Path, at: &str) -> Result<(), Error> {
    let above = OF_MACHINE.iter().any(|place| Path::new(place).starts_with(path));
    if above || OF_KERNEL.iter().any(|place| path.starts_with(place)) {
        let sentence = format!("cannot use `{at}` at the level `landlock`: it is a system directory");
        return Err(
            Error::new(ErrorKind::InvalidArgument, sentence).hint("name a directory that contains only your work")
        );
    }
    Ok(())
}

fn not_supported(what: &str) -> Error {
    let sentence = format!("the sandbox cannot start: {what} is not supported at the level `landlock`");
    Error::new(ErrorKind::Unsupported, sentence).hint("leave it out, or choose the level `namespaces`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_itself_is_not_given() {
        for path in ["/", "/proc", "/proc/sys", "/dev/shm", "/sys/fs/cgroup", "/etc", "/usr", "/tmp", "/home", "/run"] {
            assert_eq!(refuse_machine(Path::new(path), "/").unwrap_err().kind(), ErrorKind::InvalidArgument, "{path}");
        }
        for path in ["/home/me/project", "/srv", "/tmp/x", "/usr/local/src/x", "/workspace", "/run/user/1000/x"] {
            refuse_machine(Path::new(path), "/").unwrap();
        }
    }
}
