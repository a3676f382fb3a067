//! The whole exec part: runs every check on a fresh sandbox and stops it afterwards.

use workden_core::sandbox::Sandbox;

use super::{
    SandboxCheck, directories, environments, executing, inheritance, job_output, jobs, orphans, output_bounds, ports,
    servers, shared_files, signals, stopping, streams, terminals, watching,
};
use crate::{Failure, Report};

const THEMES: &[&[SandboxCheck]] = &[
    executing::CHECKS,
    inheritance::CHECKS,
    output_bounds::CHECKS,
    environments::CHECKS,
    directories::CHECKS,
    shared_files::CHECKS,
    streams::CHECKS,
    signals::CHECKS,
    terminals::CHECKS,
    jobs::CHECKS,
    job_output::CHECKS,
    watching::CHECKS,
    orphans::CHECKS,
    stopping::CHECKS,
];

/// Returns every sandbox check that needs only a shell, theme by theme.
pub fn sandbox_checks() -> impl Iterator<Item = &'static SandboxCheck> {
    THEMES.iter().copied().flatten()
}

/// Returns the checks that also need `python3` in the sandbox.
pub fn python_checks() -> impl Iterator<Item = &'static SandboxCheck> {
    servers::CHECKS.iter().chain(ports::CHECKS)
}

/// Runs every check of [`sandbox_checks`], each on a sandbox from `make`.
///
/// # Panics
///
/// Panics if a check fails; the message names all failed checks and their failures.
pub async fn all_sandbox<F, Made, S>(make: F)
where
    F: FnMut() -> Made,
    Made: Future<Output = S>,
    S: Sandbox,
{
    let report = report_sandbox(sandbox_checks(), make).await;
    assert!(report.failed.is_empty(), "{report}");
}

/// Runs these checks and returns a report instead of panicking.
pub async fn report_sandbox<F, Made, S>(checks: impl IntoIterator<Item = &SandboxCheck>, mut make: F) -> SandboxReport
where
    F: FnMut() -> Made,
    Made: Future<Output = S>,
    S: Sandbox,
{
    let mut report = SandboxReport::default();
    for check in checks {
        let sandbox = make().await;
        let outcome = check.run(&sandbox).await;
        let stopped = sandbox.stop().await.map_err(Failure::from);
        match outcome.and(stopped) {
            Ok(()) => report.passed.push(*check),
            Err(failure) => report.failed.push((*check, failure)),
        }
    }
    report
}

/// The outcomes of the checks.
pub type SandboxReport = Report<SandboxCheck>;
