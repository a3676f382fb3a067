//! `/v1/sessions/{id}/events`: everything that happened in a session, resumable by number; and the audit of a tenant.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Json,
    extract::State,
    http::HeaderMap,
    response::{
        Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    description::ServerEvent,
    session::{KnownSession, NamedSession},
};
use crate::{
    api_input::ApiQuery,
    clock::Moment,
    database::EventRow,
    described_values::optional_whole,
    identity::TenantKey,
    service::{Answer, Service},
};

/// The most events in one answer.
const PAGE: i64 = 1000;
/// How often events of other processes of the service are looked for.
const LOOK: Duration = Duration::from_millis(500);

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(follow)).routes(routes!(audit))
}

/// An event.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EventView {
    /// Empty for what concerns keys and tenants.
    session: String,
    /// Its number in the session.
    seq: i64,
    at: Moment,
    /// `call`, `session_created`, `approval_requested` and so on.
    kind: String,
    /// The id of the key that caused it; empty for the service itself.
    actor: String,
    #[schema(value_type = Object)]
    data: Value,
}

impl EventView {
    pub(super) fn of(row: EventRow) -> Self {
        let data = serde_json::from_str(&row.data).unwrap_or_default();
        Self { session: row.session, seq: row.seq, at: row.at, kind: row.kind, actor: row.actor, data }
    }
}

/// The events to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventWindow {
    /// The number of the last event that you have.
    #[serde(default)]
    after: i64,
    /// Only events before this number, and the newest of them first.
    #[serde(default, deserialize_with = "optional_whole")]
    before: Option<u64>,
    /// Events in the answer; 100 by default, at most 1000.
    limit: Option<i64>,
}

/// List the events of a session
///
/// Oldest first, or newest first with `before`.
#[utoipa::path(get, operation_id = "list_events", path = "/v1/sessions/{id}/events", tag = "events",
    params(NamedSession, EventWindow),
    responses((status = 200, description = "In order of their numbers", body = Vec<EventView>)))]
pub(super) async fn list(
    KnownSession { service, row, .. }: KnownSession,
    ApiQuery(window): ApiQuery<EventWindow>,
) -> Answer<Json<Vec<EventView>>> {
    service.events.settle().await?;
    let limit = window.limit.unwrap_or(100).clamp(1, PAGE);
    let rows = match window.before {
        None => service.database.events(&row.id, window.after, limit).await?,
        Some(before) => {
            let span = (window.after, i64::try_from(before).unwrap_or(i64::MAX));
            service.database.newest_events(&row.id, span, limit).await?
        }
    };
    Ok(Json(rows.into_iter().map(EventView::of).collect()))
}

/// Follow the events of a session
///
/// Server-sent events, each with its number as `id`, so that `Last-Event-ID` resumes. Ends with the session.
#[utoipa::path(get, operation_id = "follow_events", path = "/v1/sessions/{id}/events/stream", tag = "events",
    params(NamedSession, EventWindow),
    responses((status = 200, description = "Events as they happen",
        body = ServerEvent, content_type = "text/event-stream")))]
pub(super) async fn follow(
    KnownSession { service, row, .. }: KnownSession,
    ApiQuery(window): ApiQuery<EventWindow>,
    headers: HeaderMap,
) -> Answer<Sse<impl Stream<Item = Result<Event, Infallible>>>> {
    let session = row.id;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let mut after = resumed.unwrap_or(window.after);
    let mut stored = service.events.follow();
    let events = async_stream::stream! {
        loop {
            let Ok(rows) = service.database.events(&session, after, PAGE).await else { return };
            let is_behind = !rows.is_empty();
            for row in rows {
                after = row.seq;
                let (seq, kind) = (row.seq.to_string(), row.kind.clone());
                let data = serde_json::to_string(&EventView::of(row)).unwrap_or_default();
                yield Ok(Event::default().id(seq).event(kind).data(data));
            }
            if is_behind {
                continue;
            }
            if !matches!(service.database.session(&session).await, Ok(Some(_))) {
                return;
            }
            let _ = tokio::time::timeout(LOOK, stored.changed()).await;
        }
    };
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// The part of the audit to list.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditWindow {
    /// Only events before this moment; now by default.
    #[param(value_type = Option<String>, format = DateTime)]
    before: Option<Moment>,
    /// Events in the answer; 100 by default, at most 1000.
    limit: Option<i64>,
}

/// List what happened in all sessions, and to keys and tenants
#[utoipa::path(get, operation_id = "list_audit", path = "/v1/audit", tag = "events", params(AuditWindow),
    responses((status = 200, description = "Newest first", body = Vec<EventView>)))]
pub(super) async fn audit(
    State(service): State<Arc<Service>>,
    TenantKey(principal): TenantKey,
    ApiQuery(window): ApiQuery<AuditWindow>,
) -> Answer<Json<Vec<EventView>>> {
    service.events.settle().await?;
    let before = window.before.unwrap_or_else(|| Moment::now().after(Duration::from_secs(1)));
    let limit = window.limit.unwrap_or(100).clamp(1, PAGE);
    let rows = service.database.audit(principal.scope(), before, limit).await?;
    Ok(Json(rows.into_iter().map(EventView::of).collect()))
}
