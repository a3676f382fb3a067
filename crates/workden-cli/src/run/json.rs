//! Runs a command and prints one JSON document.

use std::io::Write;

use serde::Serialize;
use serde_json::{Map, Value};
use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{Ended, Enforcement, ExecuteRequest, Isolation, LeftOut, LimitHit, LimitReport},
};

use super::{DocumentedIsolation, Running, ending::Ending};
use crate::signals::ToldToEnd;

/// The printed document.
#[derive(Serialize)]
struct Document<'a> {
    /// The output of both streams, in order; of a long output, head and tail.
    output: String,
    /// Whether a part of the output was left out.
    truncated: bool,
    /// The exit code, as a shell reports it.
    exit_code: i32,
    ended: Ended,
    /// Seconds.
    duration: f64,
    /// The limits of the sandbox: bytes, processors, processes, files or seconds.
    limits: Map<String, Value>,
    limits_hit: &'a [LimitHit],
    /// What to do about a failure that the sandbox caused, each in a sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hints: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<&'a LeftOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<Isolation>,
}

pub(super) async fn run(
    sandbox: &dyn Sandbox,
    running: &Running,
    shown: DocumentedIsolation,
    told: &mut ToldToEnd,
) -> Result<Ending> {
    let mut request = ExecuteRequest::new(running.command()).timeout(running.timeout);
    request.environment.clone_from(&running.environment);
    let isolation = sandbox.isolation().await?;
    let mut executed = tokio::select! {
        executed = sandbox.execute(&request) => executed?,
        (_, number) = told.next() => return Ok(Ending::Told(number)),
    };
    // The log is removed with the sandbox, before the document can be read.
    if let Some(left_out) = &mut executed.output.left_out {
        left_out.log = None;
    }
    let document = Document {
        output: executed.output.text(),
        truncated: executed.output.left_out.is_some(),
        exit_code: executed.exit_code(),
        ended: executed.ended,
        duration: executed.duration.as_secs_f64(),
        limits: limits(&isolation),
        limits_hit: &executed.limits_hit,
        hints: executed.hints.iter().map(|hint| hint.sentence()).collect(),
        left_out: executed.output.left_out.as_ref(),
        isolation: (shown == DocumentedIsolation::Included).then_some(isolation),
    };
    let mut text = serde_json::to_string_pretty(&document)
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot encode the result as JSON: {error}")))?;
    text.push('\n');
    if let Err(error) = std::io::stdout().lock().write_all(text.as_bytes()) {
        return Ok(Ending::output(error));
    }
    Ok(Ending::Command(executed.ended, executed.limits_hit, executed.hints))
}

/// Returns the limits that are enforced, by name.
fn limits(isolation: &Isolation) -> Map<String, Value> {
    let is_enforced = |report: &&LimitReport| !matches!(report.enforcement, Enforcement::NotEnforced(_));
    let named = |report: &LimitReport| {
        let name = serde_json::to_value(report.limit).ok()?;
        Some((name.as_str()?.to_owned(), Value::Number(report.amount.clone()?)))
    };
    isolation.limits.iter().filter(is_enforced).filter_map(named).collect()
}
