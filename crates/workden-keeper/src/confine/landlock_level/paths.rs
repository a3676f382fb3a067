//! The host paths that a sandbox without namespaces may use. Every path stays where it is on the host: nothing can be
//! mounted elsewhere, covered, or kept in memory.

use std::{
    ffi::OsStr,
    os::{
        fd::{AsFd, AsRawFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, readlinkat},
    io::Errno,
};
use workden_core::{
    Error, ErrorKind,
    sandbox::{Confinement, MountAccess, RootFiles, WorkFiles},
};
use workden_files::{OpenMount, open_mounts};

use crate::confine::{
    errors::at_place,
    sources::{replaced, shown},
};

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
    /// The directory to work in, and the mounts.
    pub(super) opened: Vec<OpenMount>,
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
        if !matches!(confinement.work, WorkFiles::Directory(_)) {
            return Err(not_supported("a workspace in memory").hint("name a directory to work in"));
        }
        let opened = open_mounts(&shown(confinement))?;
        let mut paths = Vec::new();
        for (index, source) in opened.iter().enumerate() {
            let at = source.at().as_str();
            if confinement.expected.get(source.at()).is_some_and(|expected| *expected != source.id()) {
                return Err(replaced(source.at()));
            }
            let path = path_of(source).map_err(|errno| at_place(at, errno))?;
            match index {
                0 if !source.is_directory() => return Err(at_place("/", Errno::NOTDIR)),
                0 => {}
                _ if Path::new(at).canonicalize().is_ok_and(|there| there == path) => {}
                _ => {
                    return Err(not_supported(&format!("mounting at `{at}` a path that is elsewhere on the host"))
                        .hint("use the same path on both sides, `SRC:SRC`"));
                }
            }
            refuse_machine(&path, at)?;
            paths.push(path);
        }
        // Landlock cannot revoke below a directory what it grants above.
        let is_writable = |(_, source): &(&PathBuf, &OpenMount)| source.access() == MountAccess::ReadWrite;
        for (path, source) in paths.iter().zip(&opened).filter(|shown| !is_writable(shown)) {
            if paths.iter().zip(&opened).filter(is_writable).any(|(above, _)| path.starts_with(above)) {
                return Err(not_supported(&format!("the read-only path `{}` in a writable one", source.at())));
            }
        }
        let owner = opened[0].owner();
        Ok(Self { work: paths.swap_remove(0), owner, opened })
    }
}

/// Returns the path of an open file, without links.
fn path_of(source: &OpenMount) -> Result<PathBuf, Errno> {
    let path = readlinkat(CWD, format!("/proc/self/fd/{}", source.as_fd().as_raw_fd()), Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(path.as_bytes())))
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
