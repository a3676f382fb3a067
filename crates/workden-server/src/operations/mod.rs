//! What operators use: health, readiness, metrics, the description of the API, request ids, deadlines, connections that
//! end.

mod deadlines;
mod health;
mod metrics;
mod process;
mod requests;
mod unread;

use std::sync::Arc;

use axum::{Json, Router, routing::get};
pub(crate) use deadlines::within_deadlines;
pub(crate) use metrics::Metrics;
pub(crate) use process::resident_bytes;
pub(crate) use requests::{note_caller, request_id, stored_before_answered, with_request_id};
pub(crate) use unread::told_of_unread_bodies;
use utoipa::openapi::OpenApi;

use crate::service::Service;

/// Routes that need no key, or check it themselves.
pub(crate) fn routes(description: OpenApi) -> Router<Arc<Service>> {
    let description = Arc::new(description);
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(metrics::read))
        .route("/openapi.json", get(move || async move { Json(description.as_ref().clone()) }))
}
