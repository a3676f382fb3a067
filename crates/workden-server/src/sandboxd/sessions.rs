//! Sessions, by the name that their client chose.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, Query, State},
    http::StatusCode,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use workden::{ErrorKind, Sandbox, SessionId};
use workden_core::AuditEvent;

use super::failure::{SandboxdFailure, SandboxdResult};
use crate::{
    api_error::ApiError,
    clock::Moment,
    database::{EventRow, SessionQuery, SessionRow},
    identity::Principal,
    service::Service,
    sessions::{AtSessionEnd, ExistingName, LiveSession, NewSession},
};

/// The label that keeps their tenant: a name of the client, which grants nothing.
const TENANT: &str = "sandboxd.tenant";
/// Sessions and events in one answer.
const MOST: i64 = 1000;
/// Characters of what an event is about.
const TARGET_CHARS: usize = 500;

/// A request to open a session.
#[derive(Debug, Deserialize)]
pub(super) struct SandboxdOpening {
    session_id: Option<String>,
    runtime: Option<String>,
    tenant: Option<String>,
    #[serde(default)]
    reuse: bool,
    #[serde(default)]
    attach: bool,
}

/// A session.
#[derive(Debug, Serialize)]
pub(super) struct SandboxdSession {
    session_id: String,
    runtime: String,
    tenant: Option<String>,
    alive: bool,
    state: &'static str,
    created_at: f64,
    last_activity: f64,
    idle_seconds: f64,
    usage: Option<UsageInfo>,
}

/// What a session uses.
#[derive(Debug, Serialize)]
struct UsageInfo {
    memory_bytes: Option<u64>,
    memory_limit_bytes: Option<u64>,
    cpu_percent: Option<f64>,
    pids: Option<u64>,
}

/// A session, and its token.
#[derive(Debug, Serialize)]
pub(super) struct OpenedSandboxdSession {
    session: SandboxdSession,
    token: String,
}

/// The sessions that are open.
#[derive(Debug, Serialize)]
pub(super) struct OpenSessions {
    sessions: Vec<SandboxdSession>,
    limit: Option<i64>,
    open_limit: Option<i64>,
    tenant_limit: Option<i64>,
}

/// SandboxdOptions of a query.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SandboxdOptions {
    #[serde(default)]
    usage: bool,
    #[serde(default)]
    purge: bool,
    #[serde(default)]
    after: i64,
}

impl SandboxdSession {
    fn of(row: &SessionRow) -> Self {
        let labels: BTreeMap<String, String> = serde_json::from_str(&row.labels).unwrap_or_default();
        Self {
            session_id: row.name.clone(),
            runtime: row.runtime.clone(),
            tenant: labels.get(TENANT).cloned(),
            alive: row.state == "running",
            state: "running",
            created_at: row.created_at.as_seconds(),
            last_activity: row.used_at.as_seconds(),
            idle_seconds: Moment::now().since(row.used_at).as_secs_f64(),
            usage: None,
        }
    }

    async fn with_usage(mut self, service: &Service, row: &SessionRow) -> Self {
        let Some(live) = service.live(&row.id) else { return self };
        if let Ok(commands) = live.unrecorded().commands()
            && let Ok(usage) = commands.usage().await
        {
            let (memory_bytes, pids) = (usage.memory, usage.processes);
            self.usage = Some(UsageInfo { memory_bytes, memory_limit_bytes: None, cpu_percent: None, pids });
        }
        self
    }
}

/// Returns the row of an open session that the caller may use. A closed one is reported as missing.
pub(super) async fn open_row(service: &Service, principal: &Principal, id: &str) -> SandboxdResult<SessionRow> {
    match known_row(service, principal, id).await? {
        Some(row) if row.state == "running" => Ok(row),
        _ => Err(SandboxdFailure::no_session(id)),
    }
}

/// Returns the row of a session that the caller may use, open or closed.
pub(super) async fn known_row(
    service: &Service,
    principal: &Principal,
    id: &str,
) -> SandboxdResult<Option<SessionRow>> {
    match service.session_row(principal, id).await {
        Ok(row) => Ok(Some(row)),
        Err(error) if error.error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns an open session.
pub(super) async fn live(service: &Service, principal: &Principal, id: &str) -> SandboxdResult<Arc<LiveSession>> {
    let paused = |error: ApiError| match error.error.kind() {
        ErrorKind::NotFound | ErrorKind::Conflict | ErrorKind::Gone => SandboxdFailure::no_session(id),
        _ => error.into(),
    };
    service.session(principal, id).await.map_err(paused)
}

pub(super) async fn open(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Json(request): Json<SandboxdOpening>,
) -> SandboxdResult<Json<OpenedSandboxdSession>> {
    principal.require_tenant()?;
    let invalid = |name: &str| SandboxdFailure::new(StatusCode::UNPROCESSABLE_ENTITY, format!("invalid {name}"));
    for (name, value) in [("session_id", &request.session_id), ("tenant", &request.tenant)] {
        if let Some(value) = value {
            value.parse::<SessionId>().map_err(|_| invalid(name))?;
        }
    }
    if request.attach && request.session_id.is_none() {
        return Err(SandboxdFailure::new(StatusCode::BAD_REQUEST, "attach needs the session_id to attach to"));
    }
    let known = match &request.session_id {
        Some(id) => known_row(&service, &principal, id).await?,
        None => None,
    };
    let row = match known {
        Some(row) => reopened(&service, &principal, &request, row).await?,
        None if request.attach => {
            let id = request.session_id.as_deref().unwrap_or_default();
            return Err(SandboxdFailure::new(StatusCode::NOT_FOUND, format!("Nothing to attach to: {id}")));
        }
        None => created(&service, &principal, request).await?,
    };
    let token = service.secret.session_token(&row.id);
    Ok(Json(OpenedSandboxdSession { session: SandboxdSession::of(&row), token }))
}

/// Opens a session that exists: it runs, or was closed and has its files.
async fn reopened(
    service: &Arc<Service>,
    principal: &Principal,
    request: &SandboxdOpening,
    row: SessionRow,
) -> SandboxdResult<SessionRow> {
    let conflict = |detail: String| Err(SandboxdFailure::new(StatusCode::CONFLICT, detail));
    let is_closed = row.state == "paused";
    if !(request.reuse || request.attach || is_closed) {
        return conflict(format!("Session exists: {}", row.name));
    }
    if let Some(other) = request.runtime.as_ref().filter(|named| **named != row.runtime) {
        return conflict(format!("Session {} is open on runtime '{}', not '{}'", row.name, row.runtime, other));
    }
    match row.state.as_str() {
        "running" => {
            service.opened(row.clone()).await?;
            Ok(row)
        }
        "paused" => Ok(service.resume_session(principal, &row.id).await?),
        // Its end is a matter of moments: the client asks again.
        _ => conflict(format!("Session is closing: {}", row.name)),
    }
}

async fn created(
    service: &Arc<Service>,
    principal: &Principal,
    request: SandboxdOpening,
) -> SandboxdResult<SessionRow> {
    let mut new = NewSession { name: request.session_id, runtime: request.runtime, ..NewSession::default() };
    new.if_exists = if request.reuse { ExistingName::Attach } else { ExistingName::Refuse };
    new.at_end = AtSessionEnd::Pause;
    new.labels.extend(request.tenant.map(|tenant| (TENANT.to_owned(), tenant)));
    match service.create_session(principal, new).await {
        Ok((row, _)) => Ok(row),
        Err(error) => Err(match error.error.kind() {
            ErrorKind::Conflict => SandboxdFailure::new(StatusCode::CONFLICT, error.error.sentence()),
            ErrorKind::InvalidArgument | ErrorKind::NotFound => {
                SandboxdFailure::new(StatusCode::BAD_REQUEST, super::failure::sentence(&error.error))
            }
            ErrorKind::Busy | ErrorKind::Denied => error.into(),
            _ => SandboxdFailure::new(
                StatusCode::BAD_GATEWAY,
                format!("Could not start sandbox: {}", error.error.sentence()),
            ),
        }),
    }
}

pub(super) async fn list(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Query(options): Query<SandboxdOptions>,
) -> SandboxdResult<Json<OpenSessions>> {
    principal.require_tenant()?;
    let tenant = principal.scope().map(str::to_owned);
    let state = Some("running".to_owned());
    let rows = service.database.sessions(&SessionQuery { tenant, state, limit: MOST, after: String::new() }).await?;
    let mut sessions = Vec::with_capacity(rows.len());
    for row in &rows {
        let info = SandboxdSession::of(row);
        sessions.push(if options.usage { info.with_usage(&service, row).await } else { info });
    }
    let limit = Some(service.tenant_quotas(&principal.tenant).await?.max_sessions);
    Ok(Json(OpenSessions { sessions, limit, open_limit: None, tenant_limit: limit }))
}

pub(super) async fn describe(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Query(options): Query<SandboxdOptions>,
) -> SandboxdResult<Json<SandboxdSession>> {
    let row = open_row(&service, &principal, &id).await?;
    let info = SandboxdSession::of(&row);
    Ok(Json(if options.usage { info.with_usage(&service, &row).await } else { info }))
}

/// Closes a session: its files stay, unless it is purged.
pub(super) async fn close(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Query(options): Query<SandboxdOptions>,
) -> SandboxdResult<StatusCode> {
    let row = open_row(&service, &principal, &id).await?;
    if !options.purge {
        match service.close_session(&principal, &row).await {
            Ok(_) => return Ok(StatusCode::NO_CONTENT),
            // Its files are in its sandbox, so they end with it.
            Err(error) if error.error.kind() == ErrorKind::Unsupported => {}
            Err(error) => return Err(error.into()),
        }
    }
    service.delete_session(&principal, &row.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// One thing that happened.
#[derive(Debug, Serialize)]
struct EventInfo {
    seq: i64,
    at: f64,
    op: String,
    target: String,
    ok: bool,
    detail: String,
    duration_ms: f64,
}

/// A part of the log of a session.
#[derive(Debug, Serialize)]
pub(super) struct EventSlice {
    events: Vec<EventInfo>,
    latest_seq: i64,
}

impl EventInfo {
    fn of(row: &EventRow) -> Self {
        let data: Value = serde_json::from_str(&row.data).unwrap_or_default();
        let call = (row.kind == "call").then(|| serde_json::from_value::<AuditEvent>(data).ok()).flatten();
        let (op, target, outcome) = match call {
            Some(call) => {
                let path = call.paths.first().map(|path| path.typed.to_string());
                let target = call.command.or(path).unwrap_or_default();
                let is_command = matches!(call.call.as_str(), "execute" | "spawn" | "start_job");
                (if is_command { "run".to_owned() } else { call.call }, target, Some(call.outcome))
            }
            None => (row.kind.clone(), String::new(), None),
        };
        let words = outcome.and_then(|outcome| serde_json::to_value(outcome).ok()?.as_str().map(str::to_owned));
        let detail = words.unwrap_or_default();
        let ok = matches!(detail.as_str(), "" | "allowed" | "approved");
        let target = target.chars().take(TARGET_CHARS).collect();
        Self { seq: row.seq, at: row.at.as_seconds(), op, target, ok, detail, duration_ms: 0.0 }
    }
}

pub(super) async fn events(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    Query(options): Query<SandboxdOptions>,
) -> SandboxdResult<Json<EventSlice>> {
    let row = open_row(&service, &principal, &id).await?;
    service.events.settle().await?;
    let rows = service.database.events(&row.id, options.after.max(0), MOST).await?;
    let latest_seq = rows.last().map_or(options.after.max(0), |row| row.seq);
    Ok(Json(EventSlice { events: rows.iter().map(EventInfo::of).collect(), latest_seq }))
}
