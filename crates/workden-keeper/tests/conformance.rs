//! The conformance suite, exec part included, over a keeper in this process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU32, Ordering},
};

use tempfile::TempDir;
use workden_conformance::{SandboxCheck, SandboxReport, python_checks, report_sandbox, sandbox_checks};
use workden_keeper::{Keeper, Setting};

/// Directories on the host, a new one for each sandbox.
struct Host {
    directory: TempDir,
    made: AtomicU32,
}

impl Host {
    fn keeper(&self) -> Keeper {
        let root = self.directory.path().join(self.made.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&root).unwrap();
        let environment = BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]);
        Keeper::new(Setting::host(root, environment)).unwrap()
    }
}

fn reported(checks: impl Iterator<Item = &'static SandboxCheck>) -> SandboxReport {
    let host = Host { directory: tempfile::tempdir().unwrap(), made: AtomicU32::new(0) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(report_sandbox(checks, async || host.keeper()))
}

#[test]
fn a_keeper_conforms() {
    let report = reported(sandbox_checks());
    assert!(report.failed.is_empty(), "{report}");
}

#[test]
fn a_server_in_a_keeper_answers() {
    let report = reported(python_checks());
    assert!(report.failed.is_empty(), "{report}");
}
