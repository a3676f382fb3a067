//! `/v1/sessions/{id}/commands`: the commands that run now for a call that waits for them, what they have printed so
//! far, and their end. Tools, MCP, the clients of other surfaces and `POST` here start them.

use std::sync::Arc;

use axum::{Json, http::StatusCode};
use serde::Deserialize;
use serde_json::json;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::{Error, ErrorKind, Result, Sandbox};
use workden_core::sandbox::Job;

use super::{
    jobs::{JobText, JobView, JobWindow},
    session::{NamedSession, OpenSession},
};
use crate::{
    api_error::ApiErrorBody,
    api_input::{ApiPath, ApiQuery},
    service::{Answer, Service},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read, stop))
}

/// The command of a route.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NamedCommand {
    /// Id of the command, from the list
    command: String,
}

/// List running commands
///
/// Those that run now for a call that waits for them. Processes and background jobs have lists of their own.
#[utoipa::path(get, operation_id = "list_commands", path = "/v1/sessions/{id}/commands", tag = "commands",
    params(NamedSession),
    responses((status = 200, description = "Oldest first", body = Vec<JobView>)))]
pub(super) async fn list(session: OpenSession) -> Answer<Json<Vec<JobView>>> {
    let (_, running) = running(&session).await?;
    Ok(Json(running.iter().map(JobView::of).collect()))
}

/// Read what a running command has printed
///
/// The answer to a call that waits when the command ends has the rest of its output and its exit code. A command that
/// has ended is not found.
#[utoipa::path(get, operation_id = "read_command", path = "/v1/sessions/{id}/commands/{command}", tag = "commands",
    params(NamedSession, NamedCommand, JobWindow), responses(
        (status = 200, description = "Output after the offset", body = JobText),
        (status = 404, description = "No such command runs", body = ApiErrorBody),
    ))]
pub(super) async fn read(
    session: OpenSession,
    ApiPath(NamedCommand { command }): ApiPath<NamedCommand>,
    ApiQuery(window): ApiQuery<JobWindow>,
) -> Answer<Json<JobText>> {
    let (sandbox, job) = found(&session, command).await?;
    Ok(Json(JobText::of(sandbox.read_job(&job.id, &window.read()).await?)))
}

/// Stop a running command
///
/// Stops it with everything that it started. The call that waits for it gets its output so far, and the signal as its exit
/// code.
#[utoipa::path(delete, operation_id = "stop_command", path = "/v1/sessions/{id}/commands/{command}", tag = "commands",
    params(NamedSession, NamedCommand), responses(
        (status = 204, description = "No process of it is left"),
        (status = 404, description = "No such command runs", body = ApiErrorBody),
    ))]
pub(super) async fn stop(
    session: OpenSession,
    ApiPath(NamedCommand { command }): ApiPath<NamedCommand>,
) -> Answer<StatusCode> {
    let (sandbox, job) = found(&session, command).await?;
    sandbox.kill_job(&job.id).await?;
    let recorder = session.service.recorder(&session.live.id, &session.live.tenant, &session.principal);
    recorder.tell("command_stopped", &json!({ "command": job.line }));
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the sandbox without the rules for agents, to which the commands of other callers are nothing that exists, and
/// the commands that run in it.
async fn running(session: &OpenSession) -> Result<(Arc<dyn Sandbox>, Vec<Job>)> {
    let Some(lazy) = session.live.unrecorded().lazy() else {
        return Err(Error::new(ErrorKind::Unsupported, "the session has no sandbox"));
    };
    let sandbox = lazy.started().await?;
    let running = sandbox.usage().await?.commands;
    Ok((sandbox, running))
}

async fn found(session: &OpenSession, command: String) -> Result<(Arc<dyn Sandbox>, Job)> {
    let (sandbox, running) = running(session).await?;
    match running.into_iter().find(|job| job.id.0 == command) {
        Some(job) => Ok((sandbox, job)),
        None => Err(Error::new(ErrorKind::NotFound, format!("command `{}` not found", command.escape_debug()))
            .hint("the list of commands has those that run now")),
    }
}
