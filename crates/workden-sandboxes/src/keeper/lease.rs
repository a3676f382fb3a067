//! The directory of a sandbox with a lease: its socket, its token, and the identity of its keeper. A user that can
//! read it can attach to the sandbox.
//!
//! Invariant: a process is signalled only through a descriptor that, after it was opened, was verified to be the
//! keeper's: by pid, start time and boot id.

use std::{
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::Signal;
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result};

use super::process::ProcessHandle;
use crate::token;

const SOCKET: &str = "socket";
const TOKEN: &str = "token";
const KEEPER: &str = "keeper.pid";
/// Longest path of a socket, including the final NUL.
const SOCKET_PATH: usize = 108;
/// How long a keeper may take to exit after each signal.
const END_TIME: Duration = Duration::from_secs(5);

/// The directory of a sandbox with a lease.
#[derive(Clone, Debug)]
pub(crate) struct LeaseDirectory(PathBuf);

impl LeaseDirectory {
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join(SOCKET)
    }

    /// Creates the directory, private to this user, with a new token.
    pub(crate) fn make(&self) -> Result<String> {
        let length = self.socket().as_os_str().as_bytes().len();
        if length >= SOCKET_PATH {
            let why = format!("the path of the sandbox directory is too long: its socket path has {length} bytes");
            return Err(Error::new(ErrorKind::InvalidArgument, why)
                .hint(format!("a socket path has at most {} bytes: use a shorter directory", SOCKET_PATH - 1)));
        }
        std::fs::DirBuilder::new().mode(0o700).create(&self.0).map_err(|error| cannot("be created", &error))?;
        let token = token::random()?;
        self.write(TOKEN, &token)?;
        Ok(token)
    }

    /// Writes a file atomically.
    pub(crate) fn write(&self, name: &str, content: &str) -> Result<()> {
        let (new, place) = (self.0.join(format!("{name}.new")), self.0.join(name));
        let mut options = std::fs::File::options();
        let written = options.write(true).create(true).truncate(true).mode(0o600).open(&new);
        let written = written.and_then(|mut file| file.write_all(content.as_bytes()));
        written.and_then(|()| std::fs::rename(&new, &place)).map_err(|error| cannot("be written to", &error))
    }

    /// Reads a file, if it exists.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(name)).ok()
    }

    pub(crate) fn token(&self) -> Result<String> {
        self.read(TOKEN).ok_or_else(|| Error::new(ErrorKind::NotFound, "sandbox not found: the directory has no token"))
    }

    /// Records the identity of the keeper.
    pub(super) fn write_keeper(&self, pid: u32) -> Result<()> {
        let gone = || Error::new(ErrorKind::Gone, "the keeper exited immediately");
        let started = started(pid).ok_or_else(gone)?;
        self.write(KEEPER, &format!("{pid} {started} {}", this_run()))
    }

    /// Returns the keeper, if it runs.
    pub(crate) fn keeper(&self) -> Option<KeeperProcess> {
        let said = self.read(KEEPER)?;
        let mut words = said.split_whitespace();
        let (pid, when, run) = (words.next()?.parse::<u32>().ok()?, words.next()?, words.next()?);
        let handle = ProcessHandle::open(pid).ok()?;
        (run == this_run() && started(pid)? == when).then_some(KeeperProcess(handle))
    }

    /// Returns the age of the sandbox.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.0.join(KEEPER).metadata().ok()?.modified().ok()?.elapsed().ok()
    }

    /// Removes the directory with its content. A missing directory is not an error.
    pub(crate) fn remove(&self) -> Result<()> {
        match std::fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(cannot("be removed", &error)),
            _ => Ok(()),
        }
    }
}

/// A keeper that was found through its directory.
#[derive(Debug)]
pub(crate) struct KeeperProcess(ProcessHandle);

impl KeeperProcess {
    /// Waits until the process exits.
    async fn wait(&self) {
        if let Ok(exited) = self.0.exited() {
            let _ = exited.await;
        }
    }

    /// Waits this long for the exit, then terminates the keeper: its supervisor receives the signal and cleans up.
    pub(crate) async fn end(&self, patience: Duration) {
        for (patience, signal) in [(patience, Signal::TERM), (END_TIME, Signal::KILL)] {
            if timeout(patience, self.wait()).await.is_ok() {
                return;
            }
            self.0.signal(signal);
        }
        let _ = timeout(END_TIME, self.wait()).await;
    }
}

/// Returns when a process started, in ticks since boot; `None` when it has exited.
fn started(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // A program's name may contain anything; the fields after it are numbers.
    let mut after_name = stat.rsplit_once(')')?.1.split_whitespace();
    let ended = matches!(after_name.next()?, "Z" | "X" | "x");
    after_name.nth(18).filter(|_| !ended).map(str::to_owned)
}

fn this_run() -> String {
    let run = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    if run.trim().is_empty() { "unknown".to_owned() } else { run.trim().to_owned() }
}

fn cannot(what: &str, error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
        std::io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
        std::io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("the directory of the sandbox cannot {what}: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_directory_and_its_token_are_the_owners_only() {
        let place = tempfile::tempdir().unwrap();
        let directory = LeaseDirectory::at(place.path().join("one"));
        let token = directory.make().unwrap();
        assert_eq!(directory.token().unwrap(), token);
        assert_eq!(directory.path().metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(directory.path().join(TOKEN).metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(directory.make().unwrap_err().kind(), ErrorKind::AlreadyExists);
        directory.remove().unwrap();
        directory.remove().unwrap();
        assert_eq!(directory.token().unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn too_long_a_path_is_told_before_anything_is_made() {
        let place = tempfile::tempdir().unwrap();
        let error = LeaseDirectory::at(place.path().join("x".repeat(100))).make().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("at most 107"), "{error}");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_number_that_another_process_has_now_is_not_the_keeper() {
        let place = tempfile::tempdir().unwrap();
        let directory = LeaseDirectory::at(place.path());
        let mut child = std::process::Command::new("sleep").arg("300").spawn().unwrap();
        directory.write_keeper(child.id()).unwrap();
        let right = directory.read(KEEPER).unwrap();
        let words: Vec<&str> = right.split(' ').collect();
        for wrong in [
            format!("{} {}0 {}", words[0], words[1], words[2]),
            format!("{} {} another-run", words[0], words[1]),
            "nonsense".to_owned(),
            String::new(),
        ] {
            directory.write(KEEPER, &wrong).unwrap();
            assert!(directory.keeper().is_none(), "{wrong}");
        }
        directory.write(KEEPER, &right).unwrap();
        directory.keeper().unwrap().end(Duration::ZERO).await;
        assert!(directory.keeper().is_none(), "a zombie has exited as well");
        assert!(!child.wait().unwrap().success());
    }
}
