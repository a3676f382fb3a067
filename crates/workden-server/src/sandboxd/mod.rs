//! `/sandboxd`: the wire of the service of pydantic-ai-backend, so that its unchanged clients work with this service.
//!
//! Their session is ours: its id is our name, its token our token, and closing it without `purge` pauses it, so that its
//! files stay. Everything goes through the workspace of the session; a refusal of its policy is an answer for a model.

mod archive;
mod failure;
mod files;
mod policy;
mod run;
mod sessions;

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    middleware::{self, Next},
    response::Response,
    routing::{get, post},
};
pub(crate) use run::Runs;

use crate::service::Service;

/// Where the service is for their clients: `service_url` is the address of the server and this.
const PREFIX: &str = "/sandboxd";

/// Returns the routes that need a key.
pub(crate) fn routes() -> Router<Arc<Service>> {
    let routes = Router::new()
        .route("/policy", get(policy::read).put(policy::change))
        .route("/sessions", post(sessions::open).get(sessions::list))
        .route("/sessions/{id}", get(sessions::describe).delete(sessions::close))
        .route("/sessions/{id}/events", get(sessions::events))
        .route("/sessions/{id}/run", post(run::run))
        .route("/sessions/{id}/runs/{run}/stop", post(run::stop))
        .route("/sessions/{id}/files/read", post(files::read))
        .route("/sessions/{id}/files/write", post(files::write))
        .route("/sessions/{id}/files/stat", post(files::stat))
        .route("/sessions/{id}/files/list", post(files::list))
        .route("/sessions/{id}/files/realpath", post(files::real_path))
        .route("/sessions/{id}/files/mkdir", post(files::make_directory))
        .route("/sessions/{id}/files/remove", post(files::remove))
        .route("/workspaces/trees", post(archive::trees))
        .route("/workspaces/{id}/ls", post(archive::list))
        .route("/workspaces/{id}/tree", post(archive::tree))
        .route("/workspaces/{id}/read", post(archive::read))
        .route("/workspaces/{id}/read_bytes", post(archive::read_bytes));
    Router::new().nest(PREFIX, routes)
}

/// Returns the routes that need none.
pub(crate) fn open_routes() -> Router<Arc<Service>> {
    let routes = Router::new().route("/", get(policy::index)).route("/healthz", get(policy::health));
    // Within `nest`, the slash at the end is another path.
    Router::new().nest(PREFIX, routes).route(&format!("{PREFIX}/"), get(policy::index))
}

/// Puts what other layers refuse, like a missing key, into their form.
pub(crate) async fn in_their_form(request: Request, next: Next) -> Response {
    let is_theirs = request.uri().path().starts_with(PREFIX);
    let response = next.run(request).await;
    match is_theirs && (response.status().is_client_error() || response.status().is_server_error()) {
        true => failure::translated(response).await,
        false => response,
    }
}

/// Applies [`in_their_form`] to all routes of a router.
pub(crate) fn translating(router: Router<Arc<Service>>) -> Router<Arc<Service>> {
    router.layer(middleware::from_fn(in_their_form))
}
