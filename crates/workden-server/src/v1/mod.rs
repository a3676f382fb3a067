//! The API of workden, `/v1`: routes that translate, and their description as OpenAPI.

mod admin;
mod approvals;
mod commands;
mod events;
pub(crate) mod files;
mod jobs;
mod mcp;
mod ports;
mod processes;
mod search;
mod session;
mod sessions;
mod tools;
mod watch;
mod wire;

use std::sync::Arc;

use axum::Router;
pub(crate) use session::SessionPath;
use utoipa::{
    Modify, OpenApi,
    openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa_axum::router::OpenApiRouter;

use crate::service::Service;

#[derive(OpenApi)]
#[openapi(
    info(title = "workden", description = "Files and sandboxed commands for AI agents, under a policy"),
    modifiers(&KeyScheme),
    security(("key" = []))
)]
struct Description;

/// The scheme of API keys.
struct KeyScheme;

impl Modify for KeyScheme {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        openapi.components.get_or_insert_default().add_security_scheme("key", scheme);
    }
}

/// Returns the routes and their description.
pub(crate) fn routes() -> (Router<Arc<Service>>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(sessions::routes())
        .merge(files::routes())
        .merge(search::routes())
        .merge(watch::routes())
        .merge(ports::routes())
        .merge(commands::routes())
        .merge(jobs::routes())
        .merge(processes::routes())
        .merge(approvals::routes())
        .merge(events::routes())
        .merge(tools::routes())
        .merge(mcp::routes())
        .merge(wire::routes())
        .merge(admin::routes())
        .split_for_parts()
}
