//! `/v1/sessions/{id}/usage/history` and `/v1/host/usage`: what a session and the machine used over the last hour.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::session::{KnownSession, NamedSession};
use crate::{
    api_error::ApiErrorBody,
    identity::AdminKey,
    service::Service,
    usage::{EVERY, HostSample, UsageSample},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(session)).routes(routes!(host))
}

/// What a session used.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionUsageHistory {
    /// Seconds between samples.
    every_seconds: u64,
    /// Oldest first, of the last hour. A process of the service has those since it opened the session.
    samples: Vec<UsageSample>,
}

/// Show what a session used over the last hour
///
/// The call is no use of the session, and does not start it.
#[utoipa::path(get, operation_id = "session_usage_history", path = "/v1/sessions/{id}/usage/history", tag = "sessions",
    params(NamedSession),
    responses((status = 200, description = "Samples", body = SessionUsageHistory)))]
pub(super) async fn session(KnownSession { service, row, .. }: KnownSession) -> Json<SessionUsageHistory> {
    Json(SessionUsageHistory { every_seconds: EVERY.as_secs(), samples: service.usage.of(&row.id) })
}

/// What the machine of the service used.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HostUsageHistory {
    /// Seconds between samples.
    every_seconds: u64,
    /// Oldest first, of the last hour.
    samples: Vec<HostSample>,
}

/// Show what the machine of the service used over the last hour
#[utoipa::path(get, operation_id = "host_usage_history", path = "/v1/host/usage", tag = "tenants",
    responses(
        (status = 200, description = "Samples", body = HostUsageHistory),
        (status = 403, description = "Only an administrator may", body = ApiErrorBody),
    ))]
pub(super) async fn host(State(service): State<Arc<Service>>, _: AdminKey) -> Json<HostUsageHistory> {
    Json(HostUsageHistory { every_seconds: EVERY.as_secs(), samples: service.usage.host() })
}
