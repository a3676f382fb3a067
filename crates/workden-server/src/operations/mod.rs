//! What operators use: health, readiness, the description of the API, request ids, connections that end.

mod health;
mod requests;
mod unread;

use std::sync::Arc;

use axum::{Json, Router, routing::get};
pub(crate) use requests::{stored_before_answered, with_request_id};
pub(crate) use unread::told_of_unread_bodies;
use utoipa::openapi::OpenApi;

use crate::service::Service;

/// Routes that need no key.
pub(crate) fn routes(description: OpenApi) -> Router<Arc<Service>> {
    let description = Arc::new(description);
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/openapi.json", get(move || async move { Json(description.as_ref().clone()) }))
}
