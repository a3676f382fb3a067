//! Around every request: its id, its line in the log, its metrics, and the events that must be stored before its answer.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, Method},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{
    api_error::ApiError,
    identity::{Principal, new_id},
    service::Service,
};

/// The header of the id.
const REQUEST_ID: &str = "x-request-id";
/// The route of requests that no template describes: those to sandboxes by E2B's headers, and those to no route.
const OTHER: &str = "other";

/// A request that is being answered, for the lines of the log about it.
#[derive(Debug, Default)]
struct RequestRecord {
    id: String,
    /// The id of the key, and the tenant, once they are known.
    caller: OnceLock<(String, String)>,
}

tokio::task_local! {
    static REQUEST: Arc<RequestRecord>;
}

/// Returns the id of the request that the current task answers; empty if it answers none.
pub(crate) fn request_id() -> String {
    REQUEST.try_with(|request| request.id.clone()).unwrap_or_default()
}

/// Notes who sent the request that the current task answers.
pub(crate) fn note_caller(principal: &Principal) {
    let caller = (principal.key.clone(), principal.tenant.clone());
    let _ = REQUEST.try_with(|request| request.caller.set(caller));
}

/// Gives every request an id, which the answer carries, logs it and counts it. The URL is not logged: it may hold a
/// signature.
pub(crate) async fn with_request_id(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let record = Arc::new(RequestRecord { id: new_id().unwrap_or_default(), caller: OnceLock::new() });
    let route = request.extensions().get::<MatchedPath>().map_or(OTHER, MatchedPath::as_str).to_owned();
    let (method, path, start) = (request.method().clone(), request.uri().path().to_owned(), Instant::now());
    let (in_progress, span) =
        (CallInProgress::begin(&service), service.traces.begin(&method, &route, request.headers()));
    let mut response = REQUEST.scope(Arc::clone(&record), next.run(request)).await;
    drop(in_progress);
    let (status, took) = (response.status().as_u16(), start.elapsed());
    service.metrics.answered(&method, &route, status, took);
    span.end(status, &record.id);
    let (key, tenant) = record.caller.get().map_or(("", ""), |(key, tenant)| (key.as_str(), tenant.as_str()));
    tracing::info!(%method, path, status, millis = took.as_millis(), request = record.id, key, tenant, "request");
    if let Ok(id) = HeaderValue::from_str(&record.id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Counts a call until it is answered, or its client goes away.
struct CallInProgress<'a>(&'a Service);

impl<'a> CallInProgress<'a> {
    fn begin(service: &'a Service) -> Self {
        service.metrics.calls.inc();
        Self(service)
    }
}

impl Drop for CallInProgress<'_> {
    fn drop(&mut self) {
        self.0.metrics.calls.dec();
    }
}

/// Stores the events of a call that may have changed something before its answer is sent. If they cannot be stored, the
/// answer says so: nothing that was done is reported as done without its record.
pub(crate) async fn stored_before_answered(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let only_reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if let Err(full) = service.events.room().await {
        return ApiError::from(full).into_response();
    }
    let response = next.run(request).await;
    if !only_reads && let Err(late) = service.events.settle().await {
        return ApiError::from(late).into_response();
    }
    response
}
