//! A directory with everything below it, for a view of files.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use workden::BackendExt;
use workden_core::{Link, VirtualPath, search::ListRequest};

use super::entries::FileView;
use crate::{
    api_error::ApiErrorBody,
    api_input::ApiQuery,
    described_values::optional_whole,
    service::Answer,
    v1::session::{DirectoryPath, NamedSession, SessionDirectory, SessionPath},
};

/// The levels of a tree unless the caller says.
const DEPTH: u64 = 3;
/// The most entries of a tree.
const MOST_ENTRIES: usize = 10_000;

/// How much to show.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TreeWindow {
    /// Levels; 3 by default.
    #[serde(default, deserialize_with = "optional_whole")]
    depth: Option<u64>,
    /// Entries; at most 10,000.
    #[serde(default, deserialize_with = "optional_whole")]
    #[param(value_type = Option<u64>)]
    limit: Option<usize>,
}

/// A directory with what is below it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FileTree {
    path: String,
    /// The entries, parents before their content.
    entries: Vec<FileView>,
    /// Whether entries are missing because of the limit; deeper levels are never counted.
    is_cut: bool,
}

/// List a directory with everything below it
///
/// Level by level, so that a large tree is cut below and not within its first directories. Links are not followed.
#[utoipa::path(get, operation_id = "file_tree", path = "/v1/sessions/{id}/files/tree", tag = "files",
    params(NamedSession, DirectoryPath, TreeWindow), responses(
        (status = 200, description = "The entries", body = FileTree),
        (status = 404, description = "Directory not found", body = ApiErrorBody),
    ))]
pub(super) async fn tree(
    SessionDirectory(SessionPath { workspace, path: top }): SessionDirectory,
    ApiQuery(window): ApiQuery<TreeWindow>,
) -> Answer<Json<FileTree>> {
    let most = window.limit.unwrap_or(MOST_ENTRIES).min(MOST_ENTRIES);
    let (mut entries, mut is_cut) = (Vec::new(), false);
    let mut level: Vec<VirtualPath> = vec![top.clone()];
    for _ in 0..window.depth.unwrap_or(DEPTH) {
        for directory in std::mem::take(&mut level) {
            let asked = ListRequest::default().keep(most - entries.len());
            let listing = match workspace.files().list_path(&directory, &asked).await {
                Ok(listing) => listing,
                // It went away since its parent was listed, or may not be listed.
                Err(_) if directory != top => continue,
                Err(error) => return Err(error.into()),
            };
            is_cut |= listing.left_out > 0;
            let is_below = |entry: &&workden_core::Entry| entry.is_dir() && entry.link == Link::Direct;
            level.extend(listing.entries.iter().filter(is_below).map(|entry| entry.path.clone()));
            entries.extend(listing.entries.iter().map(FileView::of));
        }
        if level.is_empty() || entries.len() >= most {
            break;
        }
    }
    is_cut |= entries.len() >= most && !level.is_empty();
    Ok(Json(FileTree { path: top.to_string(), entries, is_cut }))
}
