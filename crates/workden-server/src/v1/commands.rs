//! `/v1/sessions/{id}/commands`: run a command to its end, with one answer or with its output as it comes.

use std::{collections::BTreeMap, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Json,
    response::{
        Sse,
        sse::{Event, KeepAlive},
    },
};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{Stream, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::{Result, Sandbox, VirtualPath, Workspace};
use workden_core::sandbox::{self, Command, Ended, ExecuteRequest, SpawnRequest, Streams};

use super::{
    description::ServerEvent,
    session::{NamedSession, OpenSession},
};
use crate::{
    api_error::{ApiError, ApiErrorBody},
    api_input::ApiJson,
    described_values::optional_whole,
    processes::{Piece, ProcessTable, ServedProcess},
    service::{Answer, Service},
};

/// The longest time of one command.
const LONGEST: u64 = 24 * 3600;
/// The most characters of output in one answer.
const MOST_CHARS: usize = 4 << 20;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(run)).routes(routes!(stream))
}

/// A command to run.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommandRequest {
    /// A line for the shell.
    #[schema(example = "pytest -q")]
    pub(crate) command: Option<String>,
    /// A program and its arguments instead, without a shell.
    #[schema(min_items = 1)]
    pub(crate) argv: Option<Vec<String>>,
    /// Where to run it; the working directory by default.
    pub(crate) directory: Option<String>,
    /// Variables.
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    /// Seconds after which it is stopped; 120 by default.
    #[serde(default, deserialize_with = "optional_whole")]
    pub(crate) timeout_seconds: Option<u64>,
    /// Characters of output in the answer; of more, the start and the end are kept.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schema(value_type = Option<u64>)]
    pub(crate) output_chars: Option<usize>,
}

impl CommandRequest {
    /// Returns the command.
    pub(crate) fn command(&self) -> Answer<Command> {
        match (&self.command, &self.argv) {
            (Some(line), None) => Ok(Command::Shell(line.clone())),
            (None, Some(words)) if !words.is_empty() => Ok(Command::Program(words.clone())),
            _ => Err(ApiError::invalid("invalid command")
                .hint("send `command`, a line for the shell, or `argv`, a program and its arguments")),
        }
    }

    /// Returns the directory, if it is not the default.
    pub(crate) async fn directory(&self, workspace: &Workspace) -> Answer<Option<VirtualPath>> {
        match &self.directory {
            Some(typed) => Ok(Some(VirtualPath::parse_from(&workspace.working_directory().await?, typed)?)),
            None => Ok(workspace.named_directory()),
        }
    }

    fn timeout(&self) -> Option<Duration> {
        self.timeout_seconds.map(|seconds| Duration::from_secs(seconds.clamp(1, LONGEST)))
    }
}

/// The result of a command.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CommandResult {
    /// The exit code that a shell would report: 124 after a timeout, 128+N after signal N.
    exit_code: i32,
    /// Standard output and standard error, in their order.
    output: String,
    /// Whether it was stopped at its timeout.
    timed_out: bool,
    /// Whether a part of the output was left out.
    truncated: bool,
    /// Seconds.
    duration_seconds: f64,
    /// Limits that it hit, in words.
    limits: Vec<String>,
    /// What to do about a failure that the sandbox caused.
    hints: Vec<String>,
}

/// Run a command
///
/// Runs a command to its end. A call that goes away stops the command.
#[utoipa::path(post, operation_id = "run_command", path = "/v1/sessions/{id}/commands", tag = "commands",
    params(NamedSession),
    request_body = CommandRequest, responses(
        (status = 200, description = "It ended, whatever its exit code", body = CommandResult),
        (status = 403, description = "The policy denies it", body = ApiErrorBody),
    ))]
pub(super) async fn run(
    session: OpenSession,
    ApiJson(request): ApiJson<CommandRequest>,
) -> Answer<Json<CommandResult>> {
    let (_in_use, workspace) = (session.begin_use(), session.workspace());
    let mut execute = ExecuteRequest::new(request.command()?).environment(request.env.clone());
    execute.directory = request.directory(&workspace).await?;
    execute.timeout = request.timeout().or(execute.timeout);
    execute.most_chars = request.output_chars.unwrap_or(execute.most_chars).min(MOST_CHARS);
    let done = workspace.commands()?.execute(&execute).await?;
    Ok(Json(CommandResult {
        exit_code: done.exit_code(),
        timed_out: done.ended == Ended::TimedOut,
        truncated: done.output.left_out.is_some(),
        duration_seconds: done.duration.as_secs_f64(),
        limits: done.limits_hit.iter().map(|hit| hit.sentence.clone()).collect(),
        hints: done.hints.iter().map(|hint| hint.sentence().to_string()).collect(),
        output: done.output.text(),
    }))
}

/// Run a command and follow its output
///
/// Server-sent events: `output` and `error` with `{"text"}` (or `{"base64"}` for bytes that are not UTF-8), `lost` with
/// the `{"bytes"}` that the client was too slow for, `limit`, and at last `end` with `{"exit_code", "timed_out"}`. A
/// client that goes away stops the command. While it runs it is one of the processes of the session.
#[utoipa::path(post, operation_id = "follow_command", path = "/v1/sessions/{id}/commands/stream", tag = "commands",
    params(NamedSession), request_body = CommandRequest, responses(
        (status = 200, description = "Its output as it comes", body = ServerEvent, content_type = "text/event-stream"),
    ))]
pub(super) async fn stream(
    session: OpenSession,
    ApiJson(request): ApiJson<CommandRequest>,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let (in_use, workspace) = (session.begin_use(), session.workspace());
    let spawn = SpawnRequest::new(request.command()?, Streams::Pipes).environment(request.env.clone());
    let spawn = spawn.directory(request.directory(&workspace).await?);
    let table = Arc::clone(&session.live.processes);
    let process = table.start(&workspace, &spawn, None).await?;
    let followed = Followed { table, process: Arc::clone(&process) };
    // A command that has ended already does not read.
    let _ = process.control.close_input().await;
    let deadline = tokio::time::Instant::now() + request.timeout().unwrap_or(Duration::from_secs(120));
    let events = async_stream::stream! {
        let (_in_use, _followed) = (in_use, followed);
        let mut pieces = std::pin::pin!(process.follow(0));
        loop {
            match tokio::time::timeout_at(deadline, pieces.next()).await {
                Ok(Some(piece)) => {
                    for event in told(piece) {
                        yield Ok(event);
                    }
                }
                // The last piece was its end.
                Ok(None) => return,
                Err(_) => {
                    process.stop();
                    yield Ok(sse("end", &json!({ "exit_code": Ended::TimedOut.exit_code(), "timed_out": true })));
                    return;
                }
            }
        }
    };
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// A process that goes with the call that follows it: it is stopped, and its output is not kept for others.
struct Followed {
    table: Arc<ProcessTable>,
    process: Arc<ServedProcess>,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.process.stop();
        self.table.forget(self.process.id);
    }
}

/// Returns a piece of what a process does as events.
fn told(piece: Piece) -> Vec<Event> {
    match piece {
        Piece::Output(from, bytes) => {
            let name = if from == sandbox::Stream::Output { "output" } else { "error" };
            let data = match std::str::from_utf8(&bytes) {
                Ok(text) => json!({ "text": text }),
                Err(_) => json!({ "base64": BASE64_STANDARD.encode(&bytes) }),
            };
            vec![sse(name, &data)]
        }
        Piece::Lost(bytes) => vec![sse("lost", &json!({ "bytes": bytes }))],
        Piece::Limits(limits) => limits.iter().map(|hit| sse("limit", &json!({ "text": hit }))).collect(),
        Piece::Ended(Ok(ended)) => {
            vec![sse("end", &json!({ "exit_code": ended.exit_code(), "timed_out": ended == Ended::TimedOut }))]
        }
        Piece::Ended(Err(error)) => vec![sse("failed", &json!(ApiError::from(error).body()))],
    }
}

fn sse(name: &str, data: &serde_json::Value) -> Event {
    Event::default().event(name).data(data.to_string())
}
