//! `workden doctor`: what this machine can isolate, why not, and what would mend it.

mod report;

use std::{io::Write, process::ExitCode};

use clap::Args;
use report::{Report, Verdict};

use crate::failure::Failure;

pub(crate) const AFTER_HELP: &str = "\
Exit codes:
  0  everything works
  1  something is missing; sandboxes may work all the same, and the first line says whether they do
  2  the command line could not be understood";

/// What `workden doctor` can be told.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print one JSON document instead.
    #[arg(long)]
    json: bool,
}

/// Looks, and tells.
pub(crate) fn run(arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let report = Report::of(workden_keeper::confine::probe());
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
