//! `workden doctor`: which isolation this machine or a cluster supports, and how to enable the rest.

#[cfg(feature = "daytona")]
mod account;
#[cfg(any(feature = "daytona", feature = "kubernetes"))]
mod interruptible;
#[cfg(feature = "kubernetes")]
mod pods;
mod report;

use std::{io::Write, process::ExitCode};

use clap::{Args, ValueEnum};
#[cfg(any(feature = "daytona", feature = "kubernetes"))]
use interruptible::{Probed, probed};
use report::{Report, Verdict};

use crate::{
    cluster::ClusterArguments,
    containers::ContainerArguments,
    failure::{Failure, usage},
    hosted::DaytonaArguments,
    isolation,
};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden doctor
  workden doctor --sandbox kubernetes --namespace agents
  workden doctor --sandbox kubernetes --namespace agents --image debian:12
  workden doctor --sandbox daytona --image debian:12

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
    #[command(flatten)]
    daytona: DaytonaArguments,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Checked {
    /// The isolation of this machine.
    Linux,
    /// A cluster: reachable, permissions, policies and quotas; with --image, a pod is started and deleted.
    Kubernetes,
    /// An account of Daytona: reachable, and the key; with --image or --snapshot, a sandbox is started and deleted.
    Daytona,
}

/// Checks the machine, the cluster or the account, and prints the report.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let report = match arguments.sandbox {
        Checked::Linux => {
            arguments.cluster.refuse().map_err(usage)?;
            arguments.daytona.refuse().and_then(|()| arguments.container.refuse_here()).map_err(usage)?;
            Report::of(isolation::probe())
        }
        #[cfg(feature = "kubernetes")]
        Checked::Kubernetes => {
            arguments.daytona.refuse().map_err(usage)?;
            match pods::probe(arguments)? {
                Probed::Findings(findings) => Report::of_cluster(findings),
                Probed::Told(code) => return Ok(code),
            }
        }
        #[cfg(feature = "daytona")]
        Checked::Daytona => {
            arguments.cluster.refuse().map_err(usage)?;
            match account::probe(arguments)? {
                Probed::Findings(findings) => Report::of_account(findings),
                Probed::Told(code) => return Ok(code),
            }
        }
        #[cfg(not(feature = "daytona"))]
        Checked::Daytona => return Err(crate::failure::request(crate::hosted::without_feature())),
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
