//! `/v1/sessions/{id}/files`: the files of a session. Content is the body; its version is the ETag.

mod archives;
mod content;
mod edits;
mod entries;
mod tree;

use std::sync::Arc;

pub(crate) use content::{body_pieces, gathered, pieces, read, write};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::Workspace;
use workden_core::VirtualPath;

use crate::{
    identity::Principal,
    service::{Answer, Service},
};

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new()
        .routes(routes!(content::read, content::write, entries::remove))
        .routes(routes!(entries::entry))
        .routes(routes!(entries::list))
        .routes(routes!(tree::tree))
        .routes(routes!(entries::make_directory))
        .routes(routes!(entries::move_file))
        .routes(routes!(entries::copy_file))
        .routes(routes!(edits::read_lines))
        .routes(routes!(edits::edit))
        .routes(routes!(archives::download, archives::upload))
}

/// The path of a file or directory.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FilePath {
    /// A path in the session; relative paths start at its working directory.
    pub(crate) path: String,
}

/// A workspace, and a path in it.
pub(crate) async fn place(
    service: &Arc<Service>,
    principal: &Principal,
    (id, path): (&str, &str),
) -> Answer<(Workspace, VirtualPath)> {
    let workspace = service.session(principal, id).await?.workspace(service, principal);
    let path = VirtualPath::parse_from(&workspace.working_directory().await?, path)?;
    Ok((workspace, path))
}
