//! `/v1/sessions`: create, find, list, pause, resume and delete sessions.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{Json, extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::{Sandbox, core::sandbox::Isolation};

use super::session::{KnownSession, NamedSession, OpenSession};
use crate::{
    RuntimeAlias,
    api_error::{ApiError, ApiErrorBody},
    api_input::{ApiJson, ApiPath, ApiQuery},
    clock::Moment,
    database::SessionQuery,
    described_values::whole,
    identity::{Principal, TenantKey},
    service::{Answer, Service},
    sessions::{NewSession, SessionView, creation::Creation},
};

/// The most sessions in one page.
const PAGE: i64 = 1000;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(describe, delete))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(extend))
        .routes(routes!(usage))
        .routes(routes!(runtimes))
}

/// A session, and a token for it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OpenedSession {
    #[serde(flatten)]
    session: SessionView,
    /// A token that is valid for this session only, to hand to an agent.
    token: String,
}

/// Create a session
///
/// Creates a session and starts its sandbox, or attaches to the session of that name if `if_exists` says so.
#[utoipa::path(post, operation_id = "create_session", path = "/v1/sessions", tag = "sessions",
    request_body = NewSession, responses(
    (status = 201, description = "The session was created", body = OpenedSession),
    (status = 200, description = "The session existed", body = OpenedSession),
    (status = 400, description = "An option is invalid", body = ApiErrorBody),
    (status = 403, description = "The tenant may not have it", body = ApiErrorBody),
    (status = 409, description = "A session of that name exists", body = ApiErrorBody),
    (status = 429, description = "The limit of sessions is reached", body = ApiErrorBody),
))]
pub(super) async fn create(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiJson(new): ApiJson<NewSession>,
) -> Answer<(StatusCode, Json<OpenedSession>)> {
    let (row, creation) = service.create_session(&principal, new).await?;
    let status = if creation == Creation::Created { StatusCode::CREATED } else { StatusCode::OK };
    let token = service.secret.session_token(&row.id);
    Ok((status, Json(OpenedSession { session: service.session_view(&row), token })))
}

/// The sessions to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionFilter {
    /// Only sessions in this state: `running` or `paused`.
    state: Option<String>,
    /// Only sessions with this label, like `team=blue`; several are separated by commas.
    labels: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    /// Sessions in a page; 100 by default, at most 1000.
    limit: Option<i64>,
}

/// A page of sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionPage {
    sessions: Vec<SessionView>,
    /// Where the next page starts; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// List sessions
#[utoipa::path(get, operation_id = "list_sessions", path = "/v1/sessions", tag = "sessions",
    params(SessionFilter), responses(
    (status = 200, description = "Sessions by id", body = SessionPage),
))]
pub(super) async fn list(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiQuery(filter): ApiQuery<SessionFilter>,
) -> Answer<Json<SessionPage>> {
    let labels = labels(filter.labels.as_deref().unwrap_or_default())?;
    let limit = filter.limit.unwrap_or(100).clamp(1, PAGE);
    let mut query = SessionQuery { limit, ..SessionQuery::default() };
    query.tenant = principal.scope().map(str::to_owned);
    query.state = filter.state;
    query.after = filter.after.unwrap_or_default();
    let rows = service.database.sessions(&query).await?;
    let next = (i64::try_from(rows.len()).is_ok_and(|len| len == limit)).then(|| rows.last().map(|row| row.id.clone()));
    let views = rows.iter().filter(|row| principal.sees(&row.tenant, &row.id)).map(|row| service.session_view(row));
    let sessions = views.filter(|view| labels.iter().all(|(key, value)| view.labels.get(key) == Some(value))).collect();
    Ok(Json(SessionPage { sessions, next: next.flatten() }))
}

/// Parses `a=b,c=d`.
fn labels(text: &str) -> Answer<BTreeMap<String, String>> {
    let pairs = text.split(',').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| match pair.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(ApiError::invalid("invalid `labels`").hint("write them like team=blue,stage=test")),
    };
    pairs.map(pair).collect()
}

/// Describe a session
#[utoipa::path(get, operation_id = "describe_session", path = "/v1/sessions/{id}", tag = "sessions",
    params(NamedSession), responses(
    (status = 200, description = "The session", body = SessionView),
    (status = 404, description = "There is none that you may use", body = ApiErrorBody),
))]
pub(super) async fn describe(KnownSession { service, row, .. }: KnownSession) -> Answer<Json<SessionView>> {
    Ok(Json(service.session_view(&row)))
}

/// Delete a session
///
/// Ends its processes and removes its files.
#[utoipa::path(delete, operation_id = "delete_session", path = "/v1/sessions/{id}", tag = "sessions",
    params(NamedSession), responses(
    (status = 204, description = "It is gone"),
    (status = 404, description = "There is none that you may use", body = ApiErrorBody),
))]
pub(super) async fn delete(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiPath(NamedSession { id }): ApiPath<NamedSession>,
) -> Answer<StatusCode> {
    service.delete_session(&principal, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a session
///
/// Ends its processes, and keeps its files until it is resumed or deleted.
#[utoipa::path(post, operation_id = "pause_session", path = "/v1/sessions/{id}/pause", tag = "sessions",
    params(NamedSession),
    responses(
        (status = 200, description = "It is paused", body = SessionView),
        (status = 501, description = "Its files are in the sandbox", body = ApiErrorBody),
    ))]
pub(super) async fn pause(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiPath(NamedSession { id }): ApiPath<NamedSession>,
) -> Answer<Json<SessionView>> {
    service.pause_session(&principal, &id).await?;
    Ok(Json(service.session_view(&service.session_row(&principal, &id).await?)))
}

/// Resume a paused session
#[utoipa::path(post, operation_id = "resume_session", path = "/v1/sessions/{id}/resume", tag = "sessions",
    params(NamedSession),
    responses((status = 200, description = "It runs", body = SessionView)))]
pub(super) async fn resume(
    State(service): State<Arc<Service>>,
    principal: Principal,
    ApiPath(NamedSession { id }): ApiPath<NamedSession>,
) -> Answer<Json<SessionView>> {
    let row = service.resume_session(&principal, &id).await?;
    Ok(Json(service.session_view(&row)))
}

/// A new end of a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionExtension {
    /// Seconds from now.
    #[serde(deserialize_with = "whole")]
    lifetime_seconds: u64,
}

/// Set when a session ends
#[utoipa::path(post, operation_id = "extend_session", path = "/v1/sessions/{id}/lifetime", tag = "sessions",
    params(NamedSession),
    request_body = SessionExtension, responses((status = 200, description = "Its new end", body = SessionView)))]
pub(super) async fn extend(
    // An agent with the token of its session does not decide how long it lives.
    _: TenantKey,
    session: KnownSession,
    ApiJson(extension): ApiJson<SessionExtension>,
) -> Answer<Json<SessionView>> {
    let KnownSession { service, principal, row } = session;
    let most = service.tenant_quotas(&row.tenant).await?.lifetime_seconds;
    let lifetime = Duration::from_secs(extension.lifetime_seconds.min(most));
    service.database.set_session_end(&row.id, Moment::now().after(lifetime)).await?;
    Ok(Json(service.session_view(&service.session_row(&principal, &row.id).await?)))
}

/// The resources that a session uses.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionUsage {
    /// Bytes of memory of all commands together.
    memory: Option<u64>,
    /// The most that it was.
    memory_peak: Option<u64>,
    /// Seconds of processor time.
    cpu_seconds: Option<f64>,
    /// Processes.
    processes: Option<u64>,
    /// Seconds since the sandbox started.
    age_seconds: f64,
    /// Background jobs that run.
    jobs: u64,
    /// What isolates commands.
    #[schema(value_type = Object)]
    isolation: Isolation,
}

/// Show what a session uses
#[utoipa::path(get, operation_id = "session_usage", path = "/v1/sessions/{id}/usage", tag = "sessions",
    params(NamedSession),
    responses((status = 200, description = "Now", body = SessionUsage)))]
pub(super) async fn usage(session: OpenSession) -> Answer<Json<SessionUsage>> {
    let commands = session.live.unrecorded().commands()?;
    let (usage, isolation) = (commands.usage().await?, commands.isolation().await?);
    Ok(Json(SessionUsage {
        memory: usage.memory,
        memory_peak: usage.memory_peak,
        cpu_seconds: usage.cpu.map(|cpu| cpu.as_secs_f64()),
        processes: usage.processes,
        age_seconds: usage.age.as_secs_f64(),
        jobs: usage.jobs,
        isolation,
    }))
}

/// List runtimes
#[utoipa::path(get, operation_id = "list_runtimes", path = "/v1/runtimes", tag = "sessions", responses(
    (status = 200, description = "Runtimes by name", body = BTreeMap<String, RuntimeAlias>),
))]
pub(super) async fn runtimes(
    State(service): State<Arc<Service>>,
    _: Principal,
) -> Json<BTreeMap<String, RuntimeAlias>> {
    let mut runtimes = service.config().runtimes.clone();
    // Values of variables may be secrets.
    runtimes.values_mut().for_each(|runtime| runtime.env.clear());
    Json(runtimes)
}
