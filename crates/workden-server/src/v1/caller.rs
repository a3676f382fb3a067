//! `/v1/caller`: who a key is, and what the service is, for a client that has nothing but the key.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    clock::Moment,
    identity::{Principal, Role},
    service::Service,
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(describe))
}

/// The owner of a key.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct CallerView {
    /// The id of the key.
    key: String,
    role: Role,
    tenant: String,
    /// The only session that a token is valid for.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The version of the service.
    version: &'static str,
    /// When this process of the service started.
    started_at: Moment,
    /// The time of the service.
    now: Moment,
    /// The runtime of sessions that name none.
    default_runtime: String,
    /// How long a session may be idle, unless it says otherwise; 0 is no limit.
    idle_seconds: u64,
    /// How long a session may live, unless it says otherwise.
    lifetime_seconds: u64,
}

/// Describe the caller
#[utoipa::path(get, operation_id = "describe_caller", path = "/v1/caller", tag = "keys",
    responses((status = 200, description = "The owner of the key, and the service", body = CallerView)))]
pub(super) async fn describe(State(service): State<Arc<Service>>, principal: Principal) -> Json<CallerView> {
    let Principal { key, tenant, role, session } = principal;
    let config = service.config();
    Json(CallerView {
        key,
        role,
        tenant,
        session,
        version: env!("CARGO_PKG_VERSION"),
        started_at: service.started_at,
        now: Moment::now(),
        default_runtime: config.default_runtime.clone(),
        idle_seconds: config.idle_seconds,
        lifetime_seconds: config.lifetime_seconds,
    })
}
