//! Checks a cluster. A signal meanwhile leaves no pod behind.

use std::process::ExitCode;

use workden::sandboxes::kubernetes::KubernetesSandbox;
use workden_core::sandbox::Finding;

use super::DoctorArguments;
use crate::{
    command_options::CommandOptions,
    failure::{Failure, request},
    signals::ToldToEnd,
    spinner::Spinner,
};

/// What came of the checks.
pub(super) enum Probed {
    Findings(Vec<Finding>),
    /// A signal ended them.
    Told(ExitCode),
}

pub(super) fn probe(arguments: &DoctorArguments) -> Result<Probed, Failure> {
    let pod = KubernetesSandbox::builder();
    let pod = arguments.cluster.unchecked_pod(pod, &arguments.container, None, &CommandOptions::default());
    let pod = pod.map_err(request)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(Failure::Machine)?;
    let probed = runtime.block_on(async {
        let mut told = ToldToEnd::listen().map_err(Failure::Machine)?;
        let _spinner = Spinner::show("checking the cluster".to_owned());
        let (end, ended) = tokio::sync::oneshot::channel();
        // It goes on after a signal until its pod is deleted.
        let mut checks = std::pin::pin!(pod.probe_until(async move { drop(ended.await) }));
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
