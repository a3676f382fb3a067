//! The API of workden, `/v1`: routes that translate, and their description as OpenAPI.

mod activity;
mod admin;
mod approvals;
mod audit;
mod caller;
mod changes;
mod commands;
mod description;
mod events;
pub(crate) mod files;
mod jobs;
mod listening;
mod mcp;
mod policy;
mod ports;
mod processes;
mod running_commands;
mod search;
mod session;
mod sessions;
mod tools;
mod usage;
mod watch;
mod wire;

use std::sync::Arc;

use axum::Router;
pub(crate) use session::SessionPath;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use self::description::{Description, with_refusals};
use crate::service::Service;

/// Returns the routes and their description.
pub(crate) fn routes() -> (Router<Arc<Service>>, utoipa::openapi::OpenApi) {
    let (router, description) = OpenApiRouter::with_openapi(Description::openapi())
        .merge(sessions::routes())
        .merge(files::routes())
        .merge(search::routes())
        .merge(changes::routes())
        .merge(watch::routes())
        .merge(ports::routes())
        .merge(commands::routes())
        .merge(running_commands::routes())
        .merge(jobs::routes())
        .merge(processes::routes())
        .merge(approvals::routes())
        .merge(events::routes())
        .merge(tools::routes())
        .merge(mcp::routes())
        .merge(wire::routes())
        .merge(admin::routes())
        .merge(caller::routes())
        .merge(audit::routes())
        .merge(activity::routes())
        .merge(usage::routes())
        .merge(policy::routes())
        .merge(listening::routes())
        .split_for_parts();
    (router, with_refusals(description))
}
