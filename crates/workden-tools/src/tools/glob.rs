//! `glob`: finds files by pattern.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::{
    BackendExt,
    search::{GlobRequest, IgnoreFiles, Skipped},
};

use super::{escaped_name, search_notes};
use crate::{Dialect, ToolAnswer, ToolFailure, tool_context::ToolContext};

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
    /// Show files that .gitignore ignores, too.
    #[serde(default)]
    include_ignored: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The paths, newest first.
    files: Vec<String>,
    /// The number of files that match, without ignored ones.
    found: u64,
    /// Files among them that are not shown.
    left_out: u64,
    /// Ignored files, or why the search is incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

super::tool!(glob, "Find files", Input => Output, Files, READS, &["glob"], |offered| {
    let which = match offered.options.dialect.shows_ignored_files() {
        true => "Hidden and ignored files are included.",
        false => "Hidden files are included; files in .gitignore are not, unless include_ignored is set.",
    };
    format!("Find files by a pattern for their paths, such as **/*.rs or src/**/test_*.py, newest first. {which}")
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { pattern, path: typed, include_ignored } = input;
    let dialect = context.options.dialect;
    let path = context.path(&typed)?;
    let ignore_files = match include_ignored.unwrap_or(dialect.shows_ignored_files()) {
        true => IgnoreFiles::Disregard,
        false => IgnoreFiles::Honour,
    };
    let request = GlobRequest::new(pattern.as_str()).ignore_files(ignore_files).keep(SHOWN);
    let found = context.files.glob_path(&path, &request).await.map_err(|error| context.failed(&typed, error))?;
    let total = found.entries.len() as u64 + found.left_out;
    let paths: Vec<&str> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
    let mut text = match total {
        0 => format!("No files matching '{pattern}' in {typed}"),
        total => format!("Found {} matching '{pattern}':", dialect.counted(total, "file")),
    };
    for path in &paths {
        let _ = write!(text, "\n  {}", escaped_name(path));
    }
    if found.left_out > 0 {
        let _ = write!(text, "\n  ... and {} more; a narrower pattern or path shows them", found.left_out);
    }
    let mut notes = search_notes(dialect, found.skipped, found.completeness);
    notes.push_str(&ignored(dialect, found.skipped));
    text.push_str(&notes);
    let files = paths.into_iter().map(str::to_owned).collect();
    let output = Output { files, found: total, left_out: found.left_out, note: super::as_note(&notes) };
    Ok(ToolAnswer::text(text).data(&output))
}

/// Says how much `.gitignore` left out.
fn ignored(dialect: Dialect, skipped: Skipped) -> String {
    let what = match (skipped.ignored_files, skipped.ignored_directories) {
        (0, 0) => return String::new(),
        (1, 0) => "1 ignored file is not shown".to_owned(),
        (files, 0) => format!("{files} ignored files are not shown"),
        (0, 1) => "1 ignored directory was not searched".to_owned(),
        (0, directories) => format!("{directories} ignored directories were not searched"),
        (files, directories) => {
            let files = dialect.counted(files, "ignored file");
            let directories =
                if directories == 1 { "1 directory".to_owned() } else { format!("{directories} directories") };
            format!("{files} and what is in {directories} are not shown")
        }
    };
    format!("\n({what}: .gitignore; set include_ignored to true to see them)")
}
