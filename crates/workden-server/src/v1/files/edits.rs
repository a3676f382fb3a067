//! Files as an agent works on them: numbered lines, and replacements.

use axum::Json;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use workden::BackendExt;
use workden_core::{
    Expect,
    text::{Occurrences, Replacement},
};

use super::content::version;
use crate::{
    api_error::ApiErrorBody,
    api_input::{ApiJson, ApiQuery},
    described_values::{objects, optional_whole, whole},
    service::Answer,
    v1::session::{FilePath, NamedSession, OpenSession, SessionPath},
};

/// The lines to read.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LineWindow {
    /// Lines to skip.
    #[serde(default, deserialize_with = "whole")]
    offset: u64,
    /// Lines to read; 2000 by default.
    #[serde(default, deserialize_with = "optional_whole")]
    limit: Option<u64>,
}

/// Numbered lines.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct NumberedLines {
    /// The lines with their numbers, as a model reads them.
    text: String,
    /// How many lines are shown.
    shown: u64,
    /// How many lines the file has.
    total: u64,
}

/// Read numbered lines
#[utoipa::path(get, path = "/v1/sessions/{id}/files/lines", tag = "files",
    params(NamedSession, FilePath, LineWindow), responses(
        (status = 200, description = "The lines", body = NumberedLines),
        (status = 400, description = "The file is not text", body = ApiErrorBody),
    ))]
pub(super) async fn read_lines(
    SessionPath { workspace, path }: SessionPath,
    ApiQuery(window): ApiQuery<LineWindow>,
) -> Answer<Json<NumberedLines>> {
    let numbered = workspace.files().read_numbered(&path, window.offset, window.limit.unwrap_or(2000)).await?;
    Ok(Json(NumberedLines { text: numbered.text, shown: numbered.shown, total: numbered.total }))
}

/// Replacements in a file, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileEdit {
    path: String,
    #[serde(deserialize_with = "objects")]
    replacements: Vec<TextReplacement>,
    /// Only if the file has this version.
    version: Option<String>,
}

/// A replacement.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TextReplacement {
    /// The text to replace, as it is in the file.
    old: String,
    new: String,
    /// Whether every occurrence is replaced; otherwise there must be exactly one.
    #[serde(default)]
    all: bool,
}

/// A file that was edited.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EditedFile {
    path: String,
    /// The version of the content.
    version: String,
}

/// Edit a file
///
/// Replaces text, all replacements or none. A text that is not found is answered with the nearest line.
#[utoipa::path(post, operation_id = "edit_file", path = "/v1/sessions/{id}/files/edit", tag = "files",
    params(NamedSession),
    request_body = FileEdit, responses(
        (status = 200, description = "The file is changed", body = EditedFile),
        (status = 409, description = "The text was not found, or not once, or the version is another", body = ApiErrorBody),
    ))]
pub(super) async fn edit(session: OpenSession, ApiJson(edit): ApiJson<FileEdit>) -> Answer<Json<EditedFile>> {
    let SessionPath { workspace, path } = session.at(&edit.path).await?;
    let replacement = |one: TextReplacement| {
        let occurrences = if one.all { Occurrences::All } else { Occurrences::One };
        Replacement { occurrences, ..Replacement::once(one.old, one.new) }
    };
    let change = workden_core::text::Change::Replace(edit.replacements.into_iter().map(replacement).collect());
    let expect = edit.version.as_deref().map(version).transpose()?.map_or(Expect::Anything, Expect::Version);
    let changed = workspace.files().change_path(&path, &change, expect).await?;
    Ok(Json(EditedFile { path: changed.path.to_string(), version: changed.version.to_string() }))
}
