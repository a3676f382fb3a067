//! The whole suite: runs every check on a fresh backend and reports all failures.

use std::fmt;

use workden_core::Backend;

use crate::{
    Check, Failure, changing, concurrency, confusions, copying, directories, editing, entries, globbing, grep_bounds,
    grep_patterns, grep_places, hashlines, ignoring, odd_names, reading, removing, renaming, streaming, text_windows,
    views, visibility, writing,
};

const THEMES: &[&[Check]] = &[
    entries::CHECKS,
    confusions::CHECKS,
    reading::CHECKS,
    text_windows::CHECKS,
    hashlines::CHECKS,
    writing::CHECKS,
    streaming::CHECKS,
    changing::CHECKS,
    editing::CHECKS,
    directories::CHECKS,
    removing::CHECKS,
    renaming::CHECKS,
    copying::CHECKS,
    globbing::CHECKS,
    grep_patterns::CHECKS,
    grep_places::CHECKS,
    grep_bounds::CHECKS,
    ignoring::CHECKS,
    visibility::CHECKS,
    views::CHECKS,
    odd_names::CHECKS,
    concurrency::CHECKS,
];

/// Returns every check, theme by theme.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    THEMES.iter().copied().flatten()
}

/// Runs every check, each on an empty backend from `make`.
///
/// # Panics
///
/// Panics if a check fails; the message names all failed checks and their failures.
pub async fn all<F, Made, B>(make: F)
where
    F: FnMut() -> Made,
    Made: Future<Output = B>,
    B: Backend,
{
    let report = report(make).await;
    assert!(report.failed.is_empty(), "{report}");
}

/// Runs every check like [`all`], but returns a report instead of panicking.
pub async fn report<F, Made, B>(mut make: F) -> Report
where
    F: FnMut() -> Made,
    Made: Future<Output = B>,
    B: Backend,
{
    let mut report = Report::default();
    for check in checks() {
        let files = make().await;
        match check.run(&files).await {
            Ok(()) => report.passed.push(*check),
            Err(failure) => report.failed.push((*check, failure)),
        }
    }
    report
}

/// The outcomes of the checks.
#[derive(Clone, Debug)]
#[must_use = "a report may be one of failures"]
pub struct Report<C = Check> {
    /// The checks that hold.
    pub passed: Vec<C>,
    /// The checks that failed, and why.
    pub failed: Vec<(C, Failure)>,
}

impl<C> Default for Report<C> {
    fn default() -> Self {
        Self { passed: Vec::new(), failed: Vec::new() }
    }
}

impl<C: fmt::Display> fmt::Display for Report<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.passed.len() + self.failed.len();
        write!(f, "{} of {count} checks failed", self.failed.len())?;
        for (check, failure) in &self.failed {
            write!(f, "\n\n{check}\n    {}", failure.to_string().replace('\n', "\n    "))?;
        }
        Ok(())
    }
}
