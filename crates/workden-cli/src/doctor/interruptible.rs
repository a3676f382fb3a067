//! Runs checks that a signal ends, after what they have started is gone.

use std::{pin::Pin, process::ExitCode};

use workden_core::sandbox::Finding;

use crate::{failure::Failure, signals::ToldToEnd, spinner::Spinner};

/// What came of the checks.
pub(super) enum Probed {
    Findings(Vec<Finding>),
    /// A signal ended them.
    Told(ExitCode),
}

/// The end of checks that are not wanted any more.
pub(super) type Unwanted = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs checks, which go on after a signal until what they have started is gone.
pub(super) fn probed<F>(what: &str, checks: impl FnOnce(Unwanted) -> F) -> Result<Probed, Failure>
where
    F: Future<Output = Vec<Finding>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(Failure::Machine)?;
    let probed = runtime.block_on(async {
        let mut told = ToldToEnd::listen().map_err(Failure::Machine)?;
        let _spinner = Spinner::show(what.to_owned());
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let mut checks = std::pin::pin!(checks(Box::pin(async move { drop(ended.await) })));
        let (_, number) = tokio::select! {
            findings = &mut checks => return Ok(Probed::Findings(findings)),
            told = told.next() => told,
        };
        let _ = end.send(());
        checks.await;
        Ok(Probed::Told(ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))))
    });
    runtime.shutdown_background();
    probed
}
