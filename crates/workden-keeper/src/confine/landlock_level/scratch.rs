//! `Scratch`: a directory of the sandbox on the host, with a home, temporary files and logs. The supervisor removes
//! it; the next supervisor of the same user removes what a killed one left.

use std::{
    fs,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, FlockOperation, Mode, OFlags, flock, openat},
    io::Errno,
    process::{Pid, getegid, geteuid, getpid, test_kill_process},
};
use workden_core::Error;

use crate::confine::errors::{errno_of, refused};

const NAME: &str = "workden-landlock-";

/// The directory. It is removed explicitly, not on drop: two processes hold it.
pub(in crate::confine) struct Scratch {
    path: PathBuf,
    /// The directory itself, locked while its supervisor lives.
    _lock: Option<OwnedFd>,
}

impl Scratch {
    /// Creates the directory for commands of this user and group.
    pub(in crate::confine) fn make((uid, gid): (u32, u32)) -> Result<Self, Error> {
        let above = std::env::temp_dir();
        sweep(&above);
        let mut random = [0; 8];
        let failed = |errno| refused("create a directory for temporary files", errno);
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty()).map_err(failed)?;
        let name = format!("{NAME}{}-{:016x}", getpid().as_raw_pid(), u64::from_ne_bytes(random));
        let mut scratch = Self { path: above.join(name), _lock: None };
        let filled = scratch.fill((uid, gid)).map_err(|error| errno_of(&error)).and_then(|()| lock(&scratch.path));
        match filled {
            Ok(locked) => {
                scratch._lock = Some(locked);
                Ok(scratch)
            }
            Err(errno) => {
                scratch.remove();
                Err(failed(errno))
            }
        }
    }

    fn fill(&self, (uid, gid): (u32, u32)) -> std::io::Result<()> {
        // The directory belongs to the user who starts the sandbox, so that a later sweep recognises it.
        fs::DirBuilder::new().mode(0o711).create(&self.path)?;
        for path in [self.home(), self.tmp(), self.logs()] {
            fs::DirBuilder::new().mode(0o700).create(&path)?;
            if (uid, gid) != (geteuid().as_raw(), getegid().as_raw()) {
                chown(&path, Some(uid), Some(gid))?;
            }
        }
        Ok(())
    }

    pub(in crate::confine) fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    pub(super) fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Returns the directory of logs, which commands cannot reach.
    pub(super) fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// Removes the directory with its content. No process may be left that could write into it.
    pub(in crate::confine) fn remove(self) {
        remove_tree(&self.path);
    }
}

/// Locks a directory. Fails if another process has locked it.
fn lock(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(CWD, path, flags, Mode::empty())?;
    flock(&opened, FlockOperation::NonBlockingLockExclusive)?;
    Ok(opened)
}

/// Removes a tree, including directories that were made unwritable.
fn remove_tree(path: &Path) {
    // Root needs no permission, and must not change one by a name that another user could replace with a link.
    if fs::remove_dir_all(path).is_err() && !geteuid().is_root() {
        open_directories(path);
        let _ = fs::remove_dir_all(path);
    }
}

fn open_directories(path: &Path) {
    let mut left = vec![path.to_owned()];
    while let Some(directory) = left.pop() {
        if fs::symlink_metadata(&directory).is_ok_and(|there| there.is_dir()) {
            let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o700));
            left.extend(fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
    }
}

/// Removes the directories of dead supervisors of this user. The lock protects those of supervisors in another PID
/// namespace, whose ids mean nothing here.
fn sweep(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next()?.parse().ok());
        let Some(pid) = pid.and_then(Pid::from_raw) else { continue };
        let ours = entry.metadata().is_ok_and(|there| there.is_dir() && there.uid() == geteuid().as_raw());
        if ours && test_kill_process(pid) == Err(Errno::SRCH) && lock(&entry.path()).is_ok() {
            remove_tree(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_supervisor_left_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir_all(path.join("home/locked/inner")).unwrap();
            fs::set_permissions(path.join("home/locked"), fs::Permissions::from_mode(0o000)).unwrap();
            path
        };
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let gone = ended.id();
        ended.wait().unwrap();
        let left = make(&format!("{NAME}{gone}-00"));
        let elsewhere = make(&format!("{NAME}{gone}-01"));
        let _locked = lock(&elsewhere).unwrap();
        let own = make(&format!("{NAME}{}-00", std::process::id()));
        let kept = [elsewhere, own, make(&format!("{NAME}x-00")), make("else")];
        sweep(place.path());
        assert!(!left.exists());
        for path in kept {
            assert!(path.exists());
            remove_tree(&path);
            assert!(!path.exists());
        }
    }
}
