//! `/v1/sessions/{id}/files`: the files of a session. Content is the body; its version is the ETag.

mod archives;
mod content;
mod edits;
mod entries;
mod tree;

use std::sync::Arc;

pub(crate) use content::{body_pieces, gathered, pieces, read, write};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::service::Service;

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
