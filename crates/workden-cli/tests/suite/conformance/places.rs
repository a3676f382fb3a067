//! Sandboxes, each in a new directory.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use tempfile::TempDir;
use workden_core::{
    Sandbox,
    sandbox::{Level, Network},
};
use workden_sandboxes::{HostEnvironment, HostSandbox, KeeperProgram, LinuxSandbox, LinuxSandboxBuilder};

/// The path of the program, if it is not the one that cargo built.
pub(crate) const PROGRAM: &str = "WORKDEN_PROGRAM";
/// The user id of an ordinary user; no account has it.
pub(crate) const ORDINARY: u32 = 48_231;

/// Returns the program of the keeper.
pub(crate) fn program() -> PathBuf {
    std::env::var_os(PROGRAM).unwrap_or_else(|| env!("CARGO_BIN_EXE_workden").into()).into()
}

/// Directories on the host, a new one for each sandbox.
pub(crate) struct Places {
    directory: TempDir,
    made: AtomicU32,
}

impl Places {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), made: AtomicU32::new(0) }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        let directory = self.directory.path().join(self.made.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&directory).unwrap();
        directory
    }

    /// Starts a sandbox on a directory of the host.
    pub(crate) async fn linux(&self) -> LinuxSandbox {
        linux().root(self.directory()).start().await.unwrap()
    }

    /// Starts a sandbox without namespaces. Commands never run as user 0, so the directory belongs to another user.
    pub(crate) async fn landlock(&self, network: Network) -> LinuxSandbox {
        let directory = self.directory_for(Kind::Landlock);
        linux().level(Level::Landlock).network(network).root(directory).start().await.unwrap()
    }

    /// Creates a directory for a sandbox of this kind.
    pub(crate) fn directory_for(&self, kind: Kind) -> PathBuf {
        let directory = self.directory();
        if kind == Kind::Landlock && rustix::process::getuid().is_root() {
            for path in [self.directory.path(), &directory] {
                std::os::unix::fs::chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
            }
        }
        directory
    }

    pub(crate) async fn host(&self) -> HostSandbox {
        let host = HostSandbox::builder().root(self.directory()).keeper(KeeperProgram::at(program()));
        host.environment_of(HostEnvironment::from_process()).start().await.unwrap()
    }

    pub(crate) async fn start(&self, kind: Kind) -> Box<dyn Sandbox> {
        match kind {
            Kind::Linux => Box::new(self.linux().await),
            Kind::Landlock => Box::new(self.landlock(Network::None).await),
            Kind::Host => Box::new(self.host().await),
        }
    }
}

/// The kinds of sandboxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Linux,
    Landlock,
    Host,
}

pub(crate) fn linux() -> LinuxSandboxBuilder {
    LinuxSandbox::builder().keeper(KeeperProgram::at(program()))
}
