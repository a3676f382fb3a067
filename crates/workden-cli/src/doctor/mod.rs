//! `workden doctor`: which isolation this machine or a cluster supports, and how to enable the rest.

#[cfg(feature = "kubernetes")]
mod pods;
mod report;

use std::{io::Write, process::ExitCode};

use clap::{Args, ValueEnum};
use report::{Report, Verdict};

use crate::{
    cluster::ClusterArguments,
    containers::ContainerArguments,
    failure::{Failure, usage},
    isolation,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden doctor
  workden doctor --sandbox kubernetes --namespace agents
  workden doctor --sandbox kubernetes --namespace agents --image debian:12

Exit codes:
  0  everything works, or is not known
  1  something is missing; the first line says whether sandboxes still work
  2  invalid command line";

/// Arguments of `workden doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// What to check.
    #[arg(long, value_enum, default_value_t = Checked::Linux)]
    sandbox: Checked,
    #[command(flatten)]
    container: ContainerArguments,
    /// Print one JSON document instead.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Checked {
    /// The isolation of this machine.
    Linux,
    /// A cluster: reachable, permissions, policies and quotas; with --image, a pod is started and deleted.
    Kubernetes,
}

/// Checks the machine or the cluster, and prints the report.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let report = match arguments.sandbox {
        Checked::Linux => {
            arguments.cluster.refuse().and_then(|()| arguments.container.refuse_here()).map_err(usage)?;
            Report::of(isolation::probe())
        }
        #[cfg(feature = "kubernetes")]
        Checked::Kubernetes => match pods::probe(arguments)? {
            pods::Probed::Findings(findings) => Report::of_cluster(findings),
            pods::Probed::Told(code) => return Ok(code),
        },
        #[cfg(not(feature = "kubernetes"))]
        Checked::Kubernetes => return Err(crate::failure::request(crate::cluster::without_feature())),
    };
    let text = match arguments.json {
        true => serde_json::to_string_pretty(&report).map_err(|error| Failure::Request(error.to_string()))? + "\n",
        false => report.to_string(),
    };
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
    Ok(match report.verdict {
        Verdict::Full => ExitCode::SUCCESS,
        Verdict::Partial | Verdict::None => ExitCode::FAILURE,
    })
}
