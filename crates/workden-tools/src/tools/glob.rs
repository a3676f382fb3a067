//! `glob`: finds files by pattern.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{BackendExt, search::GlobRequest};

use super::{escaped_name, search_notes};
use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

/// Paths that one answer shows.
const SHOWN: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The pattern: * within a name, ** across directories, {a,b} either, [a-z] one of a class.
    pattern: String,
    /// The directory to search in.
    #[serde(default = "super::current_directory")]
    path: String,
}

super::tool!(glob, Input, Files, READS, &["glob"], |_| {
    "Find files by a pattern for their paths, such as **/*.rs or src/**/test_*.py, newest first. Hidden and ignored files \
     are included."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { pattern, path: typed } = input;
    let path = context.path(&typed)?;
    let request = GlobRequest::new(pattern.as_str()).keep(SHOWN);
    let found = context.files.glob_path(&path, &request).await.map_err(|error| context.failed(&typed, error))?;
    let total = found.entries.len() as u64 + found.left_out;
    let paths: Vec<&str> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
    let mut text = match total {
        0 => format!("No files matching '{pattern}' in {typed}"),
        total => format!("Found {total} file(s) matching '{pattern}':"),
    };
    for path in &paths {
        let _ = write!(text, "\n  {}", escaped_name(path));
    }
    if found.left_out > 0 {
        let _ = write!(text, "\n  ... and {} more; a narrower pattern or path shows them", found.left_out);
    }
    let notes = search_notes(found.skipped, found.completeness);
    text.push_str(&notes);
    let mut structured = json!({ "files": paths, "found": total, "left_out": found.left_out });
    if !notes.is_empty() {
        structured["note"] = notes.trim().into();
    }
    Ok(ToolAnswer::text(text).structured(structured))
}
