//! Sandboxes on directories of their own, and checks that run several at a time.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use futures_util::future::join_all;
use tempfile::TempDir;
use workden_conformance::{SandboxCheck, SandboxReport, report_sandbox};
use workden_core::{
    Sandbox,
    sandbox::{Level, Network},
};
use workden_sandboxes::{HostEnvironment, HostSandbox, KeeperProgram, LinuxSandbox, LinuxSandboxBuilder};

/// Where the program is, when it is not where cargo has put it.
pub(crate) const PROGRAM: &str = "WORKDEN_PROGRAM";
/// The user id of an ordinary user; nobody has it.
pub(crate) const ORDINARY: u32 = 48_231;
/// Checks that run at a time: most of them wait for something.
const LANES: usize = 6;

/// The program that is the keeper.
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

    /// A sandbox that works on a directory of the host.
    pub(crate) async fn linux(&self) -> LinuxSandbox {
        linux().directory(self.directory()).start().await.unwrap()
    }

    /// The same without namespaces. Commands never are user 0: the directory is somebody else's.
    pub(crate) async fn landlock(&self, network: Network) -> LinuxSandbox {
        let directory = self.directory_for(Kind::Landlock);
        linux().level(Level::Landlock).network(network).directory(directory).start().await.unwrap()
    }

    /// A directory that a sandbox of this kind can work on.
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
        let host = HostSandbox::builder(self.directory()).keeper(KeeperProgram::at(program()));
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

/// Runs checks several at a time, each on a sandbox of its own.
pub(crate) async fn hold<S: Sandbox>(checks: impl Iterator<Item = &'static SandboxCheck>, make: impl AsyncFn() -> S) {
    let checks: Vec<&SandboxCheck> = checks.collect();
    let lane = |first: usize| report_sandbox(checks.iter().copied().skip(first).step_by(LANES), || make());
    let reports: Vec<SandboxReport> = join_all((0..LANES).map(lane)).await;
    let failed: Vec<String> =
        reports.iter().filter(|report| !report.failed.is_empty()).map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    assert_eq!(reports.iter().map(|report| report.passed.len()).sum::<usize>(), checks.len());
}
