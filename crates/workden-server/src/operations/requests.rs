//! Around every request: its id, its record in the log, and the events that must be stored before its answer.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method},
    middleware::Next,
    response::Response,
};

use crate::{identity::new_id, service::Service};

/// The header of the id.
const REQUEST_ID: &str = "x-request-id";

/// Gives every request an id, which the answer carries, and logs it. The URL is not logged: it may hold a signature.
pub(crate) async fn with_request_id(request: Request, next: Next) -> Response {
    let id = new_id().unwrap_or_default();
    let (method, path, start) = (request.method().clone(), request.uri().path().to_owned(), Instant::now());
    let mut response = next.run(request).await;
    let (status, millis) = (response.status().as_u16(), start.elapsed().as_millis());
    tracing::info!(%method, path, status, millis, request = id, "request");
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Stores the events of a call that may have changed something before its answer is sent.
pub(crate) async fn stored_before_answered(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let only_reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    service.events.room().await;
    let response = next.run(request).await;
    if !only_reads {
        service.events.settle().await;
    }
    response
}
