//! `HttpEndpoint`: the endpoint of a server at any path, for programs with an HTTP server of their own.

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    http::{
        Method, StatusCode,
        header::{HOST, ORIGIN},
    },
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio_util::sync::{CancellationToken, DropGuard};
use tower_service::Service;

use super::admission::{self, Admission};
use crate::{
    McpServer,
    limits::{MESSAGE_BYTES, SESSION_IDLE, SESSIONS},
    server::Clients,
};

/// The endpoint of a server over streamable HTTP, for a program that has authenticated the client. Its sessions and
/// calls end with the last clone.
///
/// Requests of scripts in a browser are refused; the header `Host` is not checked.
#[derive(Clone, Debug)]
pub struct HttpEndpoint {
    router: Router,
    _stop: Arc<DropGuard>,
}

impl HttpEndpoint {
    /// Creates the endpoint of a server.
    #[must_use]
    pub fn new(server: &McpServer) -> Self {
        let stop = CancellationToken::new();
        let router = router(server, Vec::new(), Vec::new(), SESSIONS, &stop);
        Self { router, _stop: Arc::new(stop.drop_guard()) }
    }

    /// Answers a request, whatever its path.
    pub async fn answer(&self, request: Request) -> Response {
        self.router.clone().call(request).await.unwrap_or_else(|never| match never {})
    }
}

/// Returns a router that answers at every path. No hosts means any host; no origins means none.
pub(super) fn router(
    server: &McpServer,
    hosts: Vec<String>,
    origins: Vec<String>,
    most_sessions: usize,
    stop: &CancellationToken,
) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MESSAGE_BYTES)
        .with_cancellation_token(stop.clone());
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    let sessions = Arc::new(sessions);
    let admission = Admission::new(server.quota().clone(), Arc::clone(&sessions), most_sessions);
    let (server, stopped) = (server.clone(), stop.clone());
    let clone = move || Ok(server.for_client(stopped.clone(), Clients::Unknown));
    let service = StreamableHttpService::new(clone, sessions, config);
    Router::new()
        .fallback_service(service)
        .layer(from_fn(delete_without_content))
        .layer(from_fn(refuse_ambiguous_headers))
        .layer(from_fn_with_state(Arc::new(admission), admission::admit))
}

/// Refuses a request with several values of a header that is checked: only the first would be.
async fn refuse_ambiguous_headers(request: Request, next: Next) -> Response {
    for name in [HOST, ORIGIN] {
        if request.headers().get_all(&name).iter().nth(1).is_some() {
            return (StatusCode::BAD_REQUEST, format!("invalid request: several `{name}` headers\n")).into_response();
        }
    }
    next.run(request).await
}

/// Answers the end of a session with `204 No Content`. The library sends `202 Accepted`, which the official Python
/// client takes for a failure.
async fn delete_without_content(request: Request, next: Next) -> Response {
    let closes = request.method() == Method::DELETE;
    let mut response = next.run(request).await;
    if closes && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}
