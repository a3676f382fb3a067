//! `ls`: lists a directory.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::{BackendExt, Entry, EntryKind, search::ListRequest};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

/// Entries that one answer shows.
const SHOWN: usize = 1_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The directory to list; relative paths start at the working directory.
    #[serde(default = "super::current_directory")]
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    path: String,
    /// Directories first.
    entries: Vec<Listed>,
    /// Entries that are not shown.
    left_out: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Listed {
    name: String,
    /// file, directory, broken_link or special.
    kind: String,
    /// Bytes of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

super::tool!(ls, "List directory", Input => Output, Files, READS, &["ls"], |offered| {
    let further = offered.if_has("glob", " To find files in subdirectories, use glob.");
    format!(
        "List one directory: subdirectories first (with a trailing /), then files with their sizes. Hidden entries are \
         included.{further}"
    )
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { path: typed } = input;
    let path = context.path(&typed)?;
    let request = ListRequest::default().keep(SHOWN);
    let listing = context.files.list_path(&path, &request).await.map_err(|error| context.failed(&typed, error))?;
    let entries = listing.entries.iter().map(described).collect();
    let output = Output { path: path.to_string(), entries, left_out: listing.left_out };
    if listing.entries.is_empty() {
        return Ok(ToolAnswer::text(format!("Directory '{typed}' is empty")).data(&output));
    }
    let mut text = format!("Contents of {typed}:");
    for entry in &listing.entries {
        let name = super::escaped_name(entry.path.name().unwrap_or("/"));
        let _ = match (entry.kind, entry.size) {
            (EntryKind::Directory, _) => write!(text, "\n  {name}/"),
            (EntryKind::File, Some(size)) => write!(text, "\n  {name} ({})", context.options.dialect.size(size)),
            (EntryKind::File, None) => write!(text, "\n  {name}"),
            (EntryKind::BrokenLink, _) => write!(text, "\n  {name} (broken link)"),
            (EntryKind::Special, _) => write!(text, "\n  {name} (not a regular file)"),
        };
    }
    if listing.left_out > 0 {
        let _ = write!(text, "\n  ... and {} more; search by pattern to see them", listing.left_out);
    }
    Ok(ToolAnswer::text(text).data(&output))
}

fn described(entry: &Entry) -> Listed {
    let kind = match entry.kind {
        EntryKind::Directory => "directory",
        EntryKind::File => "file",
        EntryKind::BrokenLink => "broken_link",
        EntryKind::Special => "special",
    };
    Listed { name: entry.path.name().unwrap_or("/").to_owned(), kind: kind.to_owned(), size: entry.size }
}
