//! `workden doctor`: which isolation this machine supports, and how to enable the rest.

mod report;

use std::{io::Write, process::ExitCode};

use clap::Args;
use report::{Report, Verdict};

use crate::{failure::Failure, isolation};

pub(crate) const AFTER_HELP: &str = "\
Exit codes:
  0  everything works
  1  something is missing; the first line says whether sandboxes still work
  2  invalid command line";

/// Arguments of `workden doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print one JSON document instead.
    #[arg(long)]
    json: bool,
}

/// Checks the machine and prints the report.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let report = Report::of(isolation::probe());
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
