//! Keepers on directories of the host, and checks that run several at a time.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use futures_util::future::join_all;
use tempfile::TempDir;
use workden_conformance::{SandboxCheck, SandboxReport, report_sandbox};
use workden_core::Sandbox;
use workden_keeper::{Keeper, KeeperConfig};
use workden_wire::{RemoteSandbox, ServeOptions};

use crate::common::environment;

/// Checks that run at a time: most of them wait for something.
const LANES: usize = 6;

/// Directories on the host, a new one for each sandbox.
pub(crate) struct Host {
    directory: TempDir,
    made: AtomicU32,
}

impl Host {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), made: AtomicU32::new(0) }
    }

    fn new_directory(&self) -> PathBuf {
        let root = self.directory.path().join(self.made.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&root).unwrap();
        root
    }

    pub(crate) fn keeper(&self) -> Keeper {
        Keeper::new(KeeperConfig::host(self.new_directory(), environment())).unwrap()
    }

    /// A keeper at the other end of a pipe.
    pub(crate) async fn remote(&self) -> RemoteSandbox {
        let (near, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(workden_wire::serve(Arc::new(self.keeper()), far, ServeOptions::default()));
        RemoteSandbox::connect(near, None).await.unwrap()
    }
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
