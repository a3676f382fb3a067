//! `list_files`: the files below a directory.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{BackendExt, search::GlobRequest};

use super::footnotes;
use crate::{ToolAnswer, ToolFailure, context::Context};

/// Paths that one answer shows.
const SHOWN: usize = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The directory to look below.
    #[serde(default = "super::here")]
    path: String,
    /// Only files whose path, from that directory on, matches this: * within a name, ** across directories.
    #[serde(default = "everything")]
    pattern: String,
}

fn everything() -> String {
    "**/*".to_owned()
}

super::tool!(list_files, Input, Files, LOOKS, &["glob"], |_| {
    "List all files below a directory as a JSON array of paths, sorted; hidden ones are included. With a pattern, \
     only those that match."
        .to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
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
    let notes = footnotes(found.skipped, found.completeness);
    text.push_str(&notes);
    let mut structured = json!({ "files": paths, "left_out": left_out });
    if !notes.is_empty() {
        structured["note"] = notes.trim().into();
    }
    Ok(ToolAnswer::text(text).structured(structured))
}
