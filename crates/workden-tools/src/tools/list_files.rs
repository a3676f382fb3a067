//! `list_files`: lists the files below a directory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use workden_core::{BackendExt, search::GlobRequest};

use super::search_notes;
use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

/// Paths that one answer shows.
const SHOWN: usize = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The directory to list.
    #[serde(default = "super::current_directory")]
    path: String,
    /// List only files whose path below that directory matches: * within a name, ** across directories.
    #[serde(default = "all_files")]
    pattern: String,
}

fn all_files() -> String {
    "**/*".to_owned()
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The paths, sorted.
    files: Vec<String>,
    /// Files that are not shown.
    left_out: u64,
    /// Why the list is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

super::tool!(list_files, "List files", Input => Output, Files, READS, &["glob"], |_| {
    "List all files below a directory as a sorted JSON array of paths, hidden files included. With a pattern, only files \
     that match."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { path: typed, pattern } = input;
    let path = context.path(&typed)?;
    let request = GlobRequest::new(pattern.as_str());
    let found = context.files.glob_path(&path, &request).await.map_err(|error| context.failed(&typed, error))?;
    let mut paths: Vec<&str> = found.entries.iter().map(|entry| context.spelled(&typed, &entry.path)).collect();
    paths.sort_unstable();
    let left_out = paths.len().saturating_sub(SHOWN) as u64 + found.left_out;
    paths.truncate(SHOWN);
    let mut text = json!(paths).to_string();
    if left_out > 0 {
        text.push_str(&format!("\n... and {left_out} more; a narrower path or pattern shows them"));
    }
    let notes = search_notes(context.options.dialect, found.skipped, found.completeness);
    text.push_str(&notes);
    let files = paths.into_iter().map(str::to_owned).collect();
    Ok(ToolAnswer::text(text).data(&Output { files, left_out, note: super::as_note(&notes) }))
}
