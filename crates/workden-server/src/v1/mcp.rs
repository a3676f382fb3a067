//! `/v1/sessions/{id}/mcp`: the tools and files of a session for MCP clients, over streamable HTTP.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::Response,
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    api_error::ApiErrorBody,
    identity::Principal,
    service::{Answer, Service},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(post, get, delete))
}

/// Send a message of MCP
///
/// Streamable HTTP of the Model Context Protocol. Where the policy asks, the client of an API key is asked if it can ask
/// its user; otherwise, and always for the token of the session, the question waits at `/v1/approvals`.
#[utoipa::path(post, path = "/v1/sessions/{id}/mcp", tag = "tools", params(("id", description = "Id or name")),
    request_body(content = Object, content_type = "application/json"), responses(
        (status = 200, description = "The answer", body = String, content_type = "text/event-stream"),
        (status = 202, description = "A notification was taken"),
        (status = 404, description = "There is none that you may use", body = ApiErrorBody),
    ))]
pub(super) async fn post(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    request: Request,
) -> Answer<Response> {
    let live = service.session(&principal, &id).await?;
    let in_use = live.begin_use();
    let response = live.mcp(&service, &principal)?.answer(request).await;
    // The use ends with the answer, which comes while its call runs.
    Ok(response.map(|body| {
        Body::new(http_body_util::BodyExt::map_frame(body, move |frame| {
            let _ = &in_use;
            frame
        }))
    }))
}

/// Listen for messages of MCP
#[utoipa::path(get, path = "/v1/sessions/{id}/mcp", tag = "tools", params(("id", description = "Id or name")),
    responses((status = 200, description = "Messages", body = String, content_type = "text/event-stream")))]
pub(super) async fn get(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    request: Request,
) -> Answer<Response> {
    let live = service.session(&principal, &id).await?;
    Ok(live.mcp(&service, &principal)?.answer(request).await)
}

/// End a session of MCP
#[utoipa::path(delete, path = "/v1/sessions/{id}/mcp", tag = "tools", params(("id", description = "Id or name")),
    responses((status = 204, description = "It is ended")))]
pub(super) async fn delete(
    State(service): State<Arc<Service>>,
    principal: Principal,
    Path(id): Path<String>,
    request: Request,
) -> Answer<Response> {
    get(State(service), principal, Path(id), request).await
}
