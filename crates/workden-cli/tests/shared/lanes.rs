//! Checks of the conformance suite, several at a time.

use futures_util::future::join_all;
use workden_conformance::{SandboxCheck, SandboxReport, report_sandbox};
use workden_core::Sandbox;

/// Checks that run at a time: most of them wait for something.
const LANES: usize = 6;

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
