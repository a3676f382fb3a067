//! `/v1/sessions/{id}/ports`: servers in a session: their addresses, who may reach them, and a way through.

use std::sync::Arc;

use axum::{
    Json,
    extract::Request,
    http::{HeaderMap, StatusCode, header::HOST},
    response::Response,
    routing::any,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::session::{KnownSession, NamedSession, OpenSession};
use crate::{
    api_error::{ApiError, ApiErrorBody},
    api_input::ApiPath,
    database::SessionRow,
    identity::TenantKey,
    ports::{self, Place, PortVisit},
    service::{Answer, Service},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(describe, publish, unpublish))
        // What is below them is the server's own, and not described.
        .route("/v1/sessions/{id}/ports/{port}/", any(through))
        .route("/v1/sessions/{id}/ports/{port}/{*path}", any(through))
}

/// The port of a route.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(super) struct NumberedPort {
    /// 1 to 65535; 0 stands for all where a port is made private
    #[param(minimum = 0, maximum = 65535)]
    port: u16,
}

/// A port of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PortView {
    port: u16,
    /// Its address in a browser; private unless published.
    url: String,
    /// The address with a token, for a person who may see it. It is valid until the port is made private, at most as long
    /// as the session exists.
    link: String,
    /// Its address for clients with a key of the API.
    path: String,
    /// Whether everyone may reach it.
    published: bool,
}

impl PortView {
    async fn of(service: &Service, row: &SessionRow, port: u16, headers: &HeaderMap) -> Answer<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let is_secure = service.config().tls.is_some() || text("x-forwarded-proto") == Some("https");
        let scheme = if is_secure { "https" } else { "http" };
        // The port by which the caller reached this service is that of its host names, too.
        let own_port = text(HOST.as_str()).and_then(|host| host.rsplit_once(':')?.1.parse::<u16>().ok());
        let own_port = own_port.map_or_else(String::new, |port| format!(":{port}"));
        let url = format!("{scheme}://{port}-{}.{}{own_port}/", row.id, service.config().domain);
        Ok(Self {
            port,
            link: format!("{url}?workden_token={}", service.port_token(&row.id, port).await?),
            url,
            path: format!("/v1/sessions/{}/ports/{port}/", row.id),
            published: service.database.is_published(&row.id, port).await?,
        })
    }
}

/// List the published ports of a session
#[utoipa::path(get, operation_id = "list_ports", path = "/v1/sessions/{id}/ports", tag = "ports", params(NamedSession),
    responses((status = 200, description = "By number; 0 stands for all", body = Vec<PortView>)))]
pub(super) async fn list(
    KnownSession { service, row, .. }: KnownSession,
    headers: HeaderMap,
) -> Answer<Json<Vec<PortView>>> {
    let mut views = Vec::new();
    for port in service.database.published_ports(&row.id).await? {
        views.push(PortView::of(&service, &row, port, &headers).await?);
    }
    Ok(Json(views))
}

/// Describe a port
///
/// Its addresses, whether or not a server listens there now.
#[utoipa::path(get, operation_id = "describe_port", path = "/v1/sessions/{id}/ports/{port}", tag = "ports",
    params(NamedSession, NumberedPort),
    responses((status = 200, description = "Its addresses", body = PortView)))]
pub(super) async fn describe(
    ApiPath(NumberedPort { port }): ApiPath<NumberedPort>,
    KnownSession { service, row, .. }: KnownSession,
    headers: HeaderMap,
) -> Answer<Json<PortView>> {
    Ok(Json(PortView::of(&service, &row, valid(port)?, &headers).await?))
}

/// Publish a port
///
/// Everyone who knows its address may reach it from now on, without a key.
#[utoipa::path(put, operation_id = "publish_port", path = "/v1/sessions/{id}/ports/{port}", tag = "ports",
    params(NamedSession, NumberedPort),
    responses(
        (status = 200, description = "It is published", body = PortView),
        (status = 403, description = "The token of a session may not publish", body = ApiErrorBody),
    ))]
pub(super) async fn publish(
    ApiPath(NumberedPort { port }): ApiPath<NumberedPort>,
    // The agent has the token of the session: it must not show the work of its owner to everyone.
    _: TenantKey,
    session: KnownSession,
    headers: HeaderMap,
) -> Answer<Json<PortView>> {
    let KnownSession { service, row, .. } = &session;
    service.database.publish_port(&row.id, valid(port)?).await?;
    session.tell("port_published", &json!({ "port": port }));
    Ok(Json(PortView::of(service, row, port, &headers).await?))
}

/// Make a port private again
///
/// Its links are no longer valid either, and `GET` answers with a new one. An open connection stays.
#[utoipa::path(delete, operation_id = "unpublish_port", path = "/v1/sessions/{id}/ports/{port}", tag = "ports",
    params(NamedSession, NumberedPort),
    responses((status = 204, description = "It is private")))]
pub(super) async fn unpublish(
    ApiPath(NumberedPort { port }): ApiPath<NumberedPort>,
    _: TenantKey,
    session: KnownSession,
) -> Answer<StatusCode> {
    session.service.database.unpublish_port(&session.row.id, port).await?;
    session.service.database.end_links(&session.row.id, port).await?;
    session.tell("port_unpublished", &json!({ "port": port }));
    Ok(StatusCode::NO_CONTENT)
}

fn valid(port: u16) -> Answer<u16> {
    match port {
        0 => Err(ApiError::invalid("invalid port `0`").hint("use 1 to 65535")),
        port => Ok(port),
    }
}

/// Forwards a request to the server behind a port.
async fn through(
    ApiPath(NumberedPort { port }): ApiPath<NumberedPort>,
    OpenSession { service, principal, live }: OpenSession,
    request: Request,
) -> Answer<Response> {
    let port = valid(port)?;
    if request.headers().get("service-worker").is_some() {
        return Err(ApiError::forbidden("a service worker is not supported below a path of the API")
            .hint("open the port by its own host name"));
    }
    // The parameters are decoded; the address has the path as the client wrote it.
    let before: usize = request.uri().path().match_indices('/').nth(5).map_or(0, |(at, _)| at);
    let prefix = request.uri().path()[..before].to_owned();
    let visit = PortVisit { live, principal, port };
    Ok(ports::forward(&service, &visit, &Place::Path(prefix), request).await?)
}
