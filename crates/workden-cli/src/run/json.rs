//! Runs a command and prints one JSON document.

use std::io::Write;

use serde::Serialize;
use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{Ended, ExecuteRequest, Isolation, LeftOut, LimitHit},
};

use super::{Running, ending::Ending};
use crate::signals::ToldToEnd;

/// The printed document.
#[derive(Serialize)]
struct Document<'a> {
    /// The output of both streams, in order; of a long output, head and tail.
    output: String,
    /// The exit code, as a shell reports it.
    exit_code: i32,
    ended: Ended,
    /// Seconds.
    duration: f64,
    limits_hit: &'a [LimitHit],
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<&'a LeftOut>,
    isolation: Isolation,
}

pub(super) async fn run(sandbox: &dyn Sandbox, running: &Running, told: &mut ToldToEnd) -> Result<Ending> {
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
        exit_code: executed.exit_code(),
        ended: executed.ended,
        duration: executed.duration.as_secs_f64(),
        limits_hit: &executed.limits_hit,
        left_out: executed.output.left_out.as_ref(),
        isolation,
    };
    let mut text = serde_json::to_string_pretty(&document)
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot encode the result as JSON: {error}")))?;
    text.push('\n');
    if let Err(error) = std::io::stdout().lock().write_all(text.as_bytes()) {
        return Ok(Ending::output(error));
    }
    Ok(Ending::Command(executed.ended, executed.limits_hit))
}
