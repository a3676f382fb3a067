//! `/v1/sessions/{id}/jobs`: background commands, whose output is read by offset.

use std::{sync::Arc, time::Duration};

use axum::{Json, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::Sandbox;
use workden_core::sandbox::{Job, JobId, JobOutput, JobRead, JobRequest, JobState};

use super::{
    commands::CommandRequest,
    session::{NamedSession, OpenSession},
};
use crate::{
    api_error::ApiErrorBody,
    api_input::{ApiJson, ApiPath, ApiQuery},
    described_values::whole,
    service::{Answer, Service},
};

/// The longest wait for new output.
const LONGEST_WAIT: u64 = 60;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(start, list)).routes(routes!(read, kill))
}

/// A background job, or a command that runs now.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobView {
    id: String,
    /// The command, as a person would type it.
    command: String,
    running: bool,
    /// The exit code, when it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// Seconds that it runs or ran.
    duration_seconds: f64,
    /// Bytes that it has printed.
    printed: u64,
}

impl JobView {
    pub(super) fn of(job: &Job) -> Self {
        let exit_code = match job.state {
            JobState::Running => None,
            JobState::Ended(ended) => Some(ended.exit_code()),
        };
        Self {
            id: job.id.to_string(),
            command: job.line.clone(),
            running: exit_code.is_none(),
            exit_code,
            duration_seconds: job.duration.as_secs_f64(),
            printed: job.printed,
        }
    }
}

/// The job of a route.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NamedJob {
    /// Id of the job
    job: String,
}

/// Start a background job
#[utoipa::path(post, operation_id = "start_job", path = "/v1/sessions/{id}/jobs", tag = "jobs", params(NamedSession),
    request_body = CommandRequest, responses(
        (status = 201, description = "It runs", body = JobView),
        (status = 403, description = "The policy denies it", body = ApiErrorBody),
    ))]
pub(super) async fn start(
    session: OpenSession,
    ApiJson(request): ApiJson<CommandRequest>,
) -> Answer<(StatusCode, Json<JobView>)> {
    let workspace = session.workspace();
    let job = JobRequest::new(request.command()?).environment(request.env.clone());
    let job = job.directory(request.directory(&workspace).await?);
    let job = workspace.commands()?.start_job(&job).await?;
    Ok((StatusCode::CREATED, Json(JobView::of(&job))))
}

/// List background jobs
#[utoipa::path(get, operation_id = "list_jobs", path = "/v1/sessions/{id}/jobs", tag = "jobs", params(NamedSession),
    responses((status = 200, description = "Oldest first", body = Vec<JobView>)))]
pub(super) async fn list(session: OpenSession) -> Answer<Json<Vec<JobView>>> {
    // A process that has just started finds the jobs of the one before in the sandbox, and not without it.
    session.live.unrecorded().start().await?;
    Ok(Json(session.workspace().commands()?.jobs().await?.iter().map(JobView::of).collect()))
}

/// The output to read.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct JobWindow {
    /// Bytes to skip: the `next` of the answer before.
    #[serde(default, deserialize_with = "whole")]
    offset: u64,
    /// Seconds to wait for output if there is none; at most 60.
    #[serde(default, deserialize_with = "whole")]
    wait_seconds: u64,
}

/// Output of a background job or a running command.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobText {
    text: String,
    /// Bytes that the log no longer holds.
    skipped: u64,
    /// The offset of the next read.
    next: u64,
    job: JobView,
}

impl JobWindow {
    pub(super) fn read(&self) -> JobRead {
        JobRead::from(self.offset).wait(Duration::from_secs(self.wait_seconds.min(LONGEST_WAIT)))
    }
}

impl JobText {
    pub(super) fn of(output: JobOutput) -> Self {
        let job = JobView::of(&output.job);
        Self { text: output.text, skipped: output.skipped, next: output.next, job }
    }
}

/// Read the output of a background job
#[utoipa::path(get, operation_id = "read_job", path = "/v1/sessions/{id}/jobs/{job}", tag = "jobs",
    params(NamedSession, NamedJob, JobWindow), responses(
        (status = 200, description = "Output after the offset", body = JobText),
        (status = 404, description = "Job not found", body = ApiErrorBody),
    ))]
pub(super) async fn read(
    session: OpenSession,
    ApiPath(NamedJob { job }): ApiPath<NamedJob>,
    ApiQuery(window): ApiQuery<JobWindow>,
) -> Answer<Json<JobText>> {
    let _in_use = session.begin_use();
    Ok(Json(JobText::of(session.workspace().commands()?.read_job(&JobId(job), &window.read()).await?)))
}

/// Stop a background job
#[utoipa::path(delete, operation_id = "stop_job", path = "/v1/sessions/{id}/jobs/{job}", tag = "jobs",
    params(NamedSession, NamedJob),
    responses((status = 204, description = "No process of it is left")))]
pub(super) async fn kill(session: OpenSession, ApiPath(NamedJob { job }): ApiPath<NamedJob>) -> Answer<StatusCode> {
    session.workspace().commands()?.kill_job(&JobId(job)).await?;
    Ok(StatusCode::NO_CONTENT)
}
