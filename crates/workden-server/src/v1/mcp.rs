//! `/v1/sessions/{id}/mcp`: the tools and files of a session for MCP clients, over streamable HTTP. And `/v1/mcp`, the
//! same for the session `agent` of a key, so that an address and a key are all that an agent needs.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::ErrorKind;

use super::{
    description::ServerEvent,
    session::{NamedSession, OpenSession},
};
use crate::{
    api_error::ApiErrorBody,
    identity::{Principal, TenantKey},
    service::{Answer, Service},
    sessions::{AtSessionEnd, ExistingName, NewSession},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(post, get, delete)).routes(routes!(
        post_to_agent,
        get_of_agent,
        delete_of_agent
    ))
}

/// The session of `/v1/mcp`.
const AGENT: &str = "agent";

/// Send a message of MCP
///
/// Streamable HTTP of the Model Context Protocol. Where the policy asks, the client of an API key is asked if it can ask
/// its user; otherwise, and always for the token of the session, the question waits at `/v1/approvals`.
#[utoipa::path(post, operation_id = "post_mcp", path = "/v1/sessions/{id}/mcp", tag = "tools", params(NamedSession),
    request_body(content = Object, content_type = "application/json"), responses(
        (status = 200, description = "The answer", body = ServerEvent, content_type = "text/event-stream"),
        (status = 202, description = "A notification was taken"),
        (status = 404, description = "There is none that you may use", body = ApiErrorBody),
    ))]
pub(super) async fn post(session: OpenSession, request: Request) -> Answer<Response> {
    let in_use = session.begin_use();
    let response = session.mcp()?.answer(request).await;
    // The use ends with the answer, which comes while its call runs.
    Ok(response.map(|body| {
        Body::new(http_body_util::BodyExt::map_frame(body, move |frame| {
            let _ = &in_use;
            frame
        }))
    }))
}

/// Listen for messages of MCP
#[utoipa::path(get, operation_id = "get_mcp", path = "/v1/sessions/{id}/mcp", tag = "tools", params(NamedSession),
    responses((status = 200, description = "Messages", body = ServerEvent, content_type = "text/event-stream")))]
pub(super) async fn get(session: OpenSession, request: Request) -> Answer<Response> {
    Ok(session.mcp()?.answer(request).await)
}

/// End a session of MCP
#[utoipa::path(delete, operation_id = "delete_mcp", path = "/v1/sessions/{id}/mcp", tag = "tools", params(NamedSession),
    responses((status = 204, description = "It is ended")))]
pub(super) async fn delete(session: OpenSession, request: Request) -> Answer<Response> {
    get(session, request).await
}

/// Send a message of MCP to the session `agent`
///
/// The session is created by the first message, is paused when its time is over, and goes on with the next message.
#[utoipa::path(post, operation_id = "post_agent_mcp", path = "/v1/mcp", tag = "tools",
    request_body(content = Object, content_type = "application/json"), responses(
        (status = 200, description = "The answer", body = ServerEvent, content_type = "text/event-stream"),
        (status = 202, description = "A notification was taken"),
        (status = 403, description = "The token of a session has a session", body = ApiErrorBody),
    ))]
pub(super) async fn post_to_agent(
    State(service): State<Arc<Service>>,
    TenantKey(principal): TenantKey,
    request: Request,
) -> Answer<Response> {
    post(agent(service, principal).await?, request).await
}

/// Listen for messages of MCP from the session `agent`
#[utoipa::path(get, operation_id = "get_agent_mcp", path = "/v1/mcp", tag = "tools",
    responses((status = 200, description = "Messages", body = ServerEvent, content_type = "text/event-stream")))]
pub(super) async fn get_of_agent(
    State(service): State<Arc<Service>>,
    TenantKey(principal): TenantKey,
    request: Request,
) -> Answer<Response> {
    get(agent(service, principal).await?, request).await
}

/// End a session of MCP with the session `agent`
#[utoipa::path(delete, operation_id = "delete_agent_mcp", path = "/v1/mcp", tag = "tools",
    responses((status = 204, description = "It is ended")))]
pub(super) async fn delete_of_agent(
    service: State<Arc<Service>>,
    key: TenantKey,
    request: Request,
) -> Answer<Response> {
    get_of_agent(service, key, request).await
}

/// Returns the session `agent` of the caller's tenant, which runs.
async fn agent(service: Arc<Service>, principal: Principal) -> Answer<OpenSession> {
    let id = running_agent(&service, &principal).await?;
    OpenSession::of(service, principal, &id).await
}

async fn running_agent(service: &Arc<Service>, principal: &Principal) -> Answer<String> {
    match service.database.session_named(&principal.tenant, AGENT).await? {
        Some(row) if row.state == "running" => return Ok(row.id),
        Some(row) if row.state == "paused" => return Ok(service.resume_session(principal, &row.id).await?.id),
        Some(_) | None => {}
    }
    let (name, if_exists, at_end) = (Some(AGENT.to_owned()), ExistingName::Attach, AtSessionEnd::Pause);
    let new = NewSession { name, if_exists, at_end, ..NewSession::default() };
    match service.create_session(principal, new).await {
        Ok((row, _)) => Ok(row.id),
        // Another message created it at the same time.
        Err(error) if error.error.kind() == ErrorKind::Conflict => Ok(service.session_row(principal, AGENT).await?.id),
        Err(error) => Err(error),
    }
}
