//! E2B's interface, for its unchanged SDKs: sandboxes are sessions, and a sandbox's own server (envd) is this service.
//!
//! The control plane has paths of its own, like `/v2/sandboxes`. Calls to a sandbox have any path; a header or the host
//! name says which sandbox they are for, so [`EnvdGate`] takes them out before the other routes see them. Whatever is
//! not offered is refused in E2B's words.

mod connect;
mod control;
mod entries;
mod envd;
mod failure;
mod files;
mod filesystem;
mod input;
mod interpreter;
mod lifetime;
mod metadata;
mod process;
mod selection;
mod signature;
mod snapshots;
mod target;
mod views;
mod watch;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{any, delete, get, post},
};
pub(crate) use envd::{EnvdGate, divert};
use failure::E2bFailure;
pub(crate) use interpreter::CodeContexts;
pub(crate) use watch::Watchers;

use crate::{api_error::ApiError, identity::key_in, operations::stored_before_answered, service::Service};

/// Returns the routes of the control plane.
pub(crate) fn routes(service: &Arc<Service>) -> Router<Arc<Service>> {
    let mut routes = Router::new()
        .route("/sandboxes", get(control::list).post(control::create))
        .route("/v2/sandboxes", get(control::list).post(control::create))
        .route("/sandboxes/{id}", get(control::describe).delete(control::kill))
        .route("/sandboxes/{id}/connect", post(lifetime::connect))
        .route("/v2/sandboxes/{id}/connect", post(lifetime::connect))
        .route("/sandboxes/{id}/resume", post(lifetime::resume))
        .route("/sandboxes/{id}/timeout", post(lifetime::set_timeout))
        .route("/sandboxes/{id}/pause", post(lifetime::pause))
        .route("/sandboxes/{id}/metrics", get(control::metrics))
        .route("/sandboxes/{id}/snapshots", post(snapshots::take))
        .route("/sandboxes/{id}/fork", post(snapshots::fork))
        .route("/snapshots", get(snapshots::list))
        .route("/templates/{id}", delete(snapshots::delete));
    // Named, so that they are answered in the shape that the SDKs read.
    for path in [
        "/sandboxes/{id}/network",
        "/sandboxes/{id}/refreshes",
        "/templates",
        "/templates/{id}/{*rest}",
        "/v2/templates",
        "/v2/templates/{*rest}",
        "/v3/templates",
        "/volumes",
        "/volumes/{*rest}",
        "/secrets",
        "/secrets/{*rest}",
    ] {
        routes = routes.route(path, any(not_offered));
    }
    routes
        .method_not_allowed_fallback(async || E2bFailure::new(StatusCode::METHOD_NOT_ALLOWED, "method not allowed"))
        .layer(middleware::from_fn_with_state(Arc::clone(service), stored_before_answered))
        .layer(middleware::from_fn_with_state(Arc::clone(service), admit))
}

async fn not_offered() -> E2bFailure {
    E2bFailure::not_offered("this call")
}

/// Admits calls of the control plane with a valid key.
async fn admit(State(service): State<Arc<Service>>, mut request: Request, next: Next) -> Response {
    let admitted = match service.admit(key_in(request.headers()), request.headers()).await {
        // The SDKs always send a key. A service that needs none accepts any.
        Err(refused) if refused.status == StatusCode::UNAUTHORIZED => service.admit(None, request.headers()).await,
        admitted => admitted,
    };
    match admitted {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(refused) => E2bFailure::from(key_named(refused)).into_response(),
    }
}

/// E2B's clients send their key in another header than ours.
fn key_named(refused: ApiError) -> ApiError {
    match refused.status {
        StatusCode::UNAUTHORIZED => {
            let error = workden::Error::new(workden::ErrorKind::Denied, "missing or invalid API key");
            ApiError { status: refused.status, error: error.hint("set E2B_API_KEY to a key of this service") }
        }
        _ => refused,
    }
}
