//! Runs the conformance suite over a kind of sandbox: several checks of commands at a time, all checks of files in one
//! sandbox.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use futures_util::future::join_all;
use workden_conformance::{PrefixBackend, SandboxCheck, SandboxReport, all, report_sandbox};
use workden_core::{BackendExt, Sandbox, VirtualPath};

/// The number of checks that run at a time; most of them wait.
pub(crate) const LANES: usize = 6;

/// Runs checks several at a time, each in a new sandbox.
pub(crate) async fn hold<S: Sandbox>(checks: impl Iterator<Item = &'static SandboxCheck>, make: impl AsyncFn() -> S) {
    let checks: Vec<&SandboxCheck> = checks.collect();
    let lane = |first: usize| report_sandbox(checks.iter().copied().skip(first).step_by(LANES), || make());
    let reports: Vec<SandboxReport> = join_all((0..LANES).map(lane)).await;
    let failed: Vec<String> =
        reports.iter().filter(|report| !report.failed.is_empty()).map(ToString::to_string).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    assert_eq!(reports.iter().map(|report| report.passed.len()).sum::<usize>(), checks.len());
}

/// Runs the checks of files in one sandbox, each in a new directory, and stops the sandbox.
pub(crate) async fn files_conform(sandbox: impl Sandbox + 'static) {
    let (sandbox, next) = (Arc::new(sandbox), AtomicU32::new(0));
    let work = sandbox.directory().await.unwrap();
    all(async || {
        let place = VirtualPath::parse(&format!("{work}/{}", next.fetch_add(1, Ordering::Relaxed))).unwrap();
        // A file call, because commands of some sandboxes see other paths.
        sandbox.make_dir_path(&place).await.unwrap();
        PrefixBackend::new(Arc::clone(&sandbox), place)
    })
    .await;
    sandbox.stop().await.unwrap();
}
