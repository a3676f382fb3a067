//! `hashline_edit`: replaces lines named by number and hash.

use schemars::JsonSchema;
use serde::Deserialize;
use workden_core::text::{Change, HashlineEdit, hashline::Placement};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to edit.
    path: String,
    /// The number of the first line to replace, or of the line to insert after.
    start_line: u64,
    /// The two-digit hash of that line, as read_file shows it.
    start_hash: String,
    /// The new lines, without numbers and hashes; empty to remove the range.
    new_content: String,
    /// The number of the last line to replace, for more than one line.
    #[serde(default)]
    end_line: Option<u64>,
    /// The hash of that last line.
    #[serde(default)]
    end_hash: Option<String>,
    /// Insert the new lines after start_line, which stays.
    #[serde(default)]
    insert_after: bool,
}

super::tool!(hashline_edit, "Edit lines", Input => super::edit_file::Output, Files, CHANGES, &["read", "edit"], |_| {
    "Replace, remove or insert whole lines. read_file shows every line as number:hash|text; name a line by its number and \
     hash, and a range by those of its first and last line. If a hash does not match, the file has changed: read it again."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let edit = HashlineEdit::new(input.start_line, input.start_hash, input.new_content)
        .end_line(input.end_line)
        .end_hash(input.end_hash)
        .placement(if input.insert_after { Placement::InsertAfter } else { Placement::Replace });
    let changed = context.change(&input.path, &Change::Hashline(edit)).await?;
    Ok(super::edit_file::answer(context, &input.path, &changed))
}
