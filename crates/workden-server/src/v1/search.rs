//! `/v1/sessions/{id}/search`: find files by name and lines by content.

use std::sync::Arc;

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::BackendExt;
use workden_core::search::{
    Completeness, Context, GlobRequest, Globbed, GrepRequest, Grepped, Hidden, IgnoreFiles, LetterCase, Pattern,
};

use super::session::{NamedSession, OpenSession, SessionPath};
use crate::{
    api_input::ApiJson,
    described_values::{optional_whole, whole},
    service::{Answer, Service},
};

/// The most lines or paths of an answer.
const MOST: usize = 10_000;

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(grep)).routes(routes!(glob))
}

/// A search for lines.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LineSearch {
    /// What to search for.
    pattern: String,
    /// Whether the pattern is a text and not a regular expression.
    #[serde(default)]
    literal: bool,
    /// Whether case matters not.
    #[serde(default)]
    ignore_case: bool,
    /// A file or directory; the working directory by default.
    #[serde(default)]
    path: String,
    /// Which files: globs, as `rg --glob` has them.
    #[serde(default)]
    globs: Vec<String>,
    /// Whether hidden files are searched.
    #[serde(default)]
    hidden: bool,
    /// Whether files that a `.gitignore` names are searched.
    #[serde(default)]
    ignored: bool,
    /// Lines before and after each match.
    #[serde(default, deserialize_with = "whole")]
    #[schema(value_type = u64)]
    context: usize,
    /// Lines in the answer; 1000 by default.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schema(value_type = Option<u64>)]
    limit: Option<usize>,
}

/// Search in files
#[utoipa::path(post, operation_id = "search_lines", path = "/v1/sessions/{id}/search/lines", tag = "search",
    params(NamedSession), request_body = LineSearch,
    responses((status = 200, description = "Matches by file", body = Object)))]
pub(super) async fn grep(session: OpenSession, ApiJson(search): ApiJson<LineSearch>) -> Answer<Json<Grepped>> {
    let SessionPath { workspace, path } = session.at(&search.path).await?;
    let mut pattern = match search.literal {
        true => Pattern::literal(search.pattern),
        false => Pattern::regex(search.pattern),
    };
    if search.ignore_case {
        pattern.case = LetterCase::Insensitive;
    }
    let request = GrepRequest::new(pattern)
        .filter(search.globs)
        .hidden(if search.hidden { Hidden::Include } else { Hidden::Skip })
        .ignore_files(if search.ignored { IgnoreFiles::Disregard } else { IgnoreFiles::Honour })
        .context(Context::new(search.context, search.context))
        .keep(search.limit.unwrap_or(1000).min(MOST));
    Ok(Json(workspace.files().grep_path(&path, &request).await?))
}

/// A search for paths.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PathSearch {
    /// A glob like `**/*.py`.
    #[schema(example = "**/*.py")]
    pattern: String,
    /// The directory to search; the working directory by default.
    #[serde(default)]
    path: String,
    /// Paths in the answer; 1000 by default.
    #[serde(default, deserialize_with = "optional_whole")]
    #[schema(value_type = Option<u64>)]
    limit: Option<usize>,
}

/// Paths that match.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PathMatches {
    /// Newest first.
    paths: Vec<String>,
    /// How many further paths match.
    left_out: u64,
    /// Whether the search reached its end.
    is_complete: bool,
}

/// Find files by name
#[utoipa::path(post, operation_id = "search_paths", path = "/v1/sessions/{id}/search/paths", tag = "search",
    params(NamedSession), request_body = PathSearch,
    responses((status = 200, description = "Newest first", body = PathMatches)))]
pub(super) async fn glob(session: OpenSession, ApiJson(search): ApiJson<PathSearch>) -> Answer<Json<PathMatches>> {
    let SessionPath { workspace, path } = session.at(&search.path).await?;
    let request = GlobRequest::new(search.pattern).keep(search.limit.unwrap_or(1000).min(MOST));
    let found: Globbed = workspace.files().glob_path(&path, &request).await?;
    let paths = found.entries.iter().map(|entry| entry.path.to_string()).collect();
    let is_complete = found.completeness == Completeness::Complete;
    Ok(Json(PathMatches { paths, left_out: found.left_out, is_complete }))
}
