//! `edit_file`: replaces a text in a file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::text::{Change, Outcome, Replacement};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to edit.
    path: String,
    /// The text to replace, exactly as in the file: with its indentation, without line numbers.
    old_string: String,
    /// The new text; empty to remove the old one.
    new_string: String,
    /// Replace every occurrence of the text.
    #[serde(default)]
    replace_all: bool,
}

super::tool!(edit_file, Input, Files, CHANGES, &["read", "edit"], |_| {
    "Replace a text in a file. The old text must occur exactly once: add lines around it until it does, or set \
     replace_all. The rest of the file stays as it is, byte for byte. An edit of a file that changed since you read it is \
     refused."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { path, old_string, new_string, replace_all } = input;
    let replacement =
        if replace_all { Replacement::all(old_string, new_string) } else { Replacement::once(old_string, new_string) };
    let changed = context.change(&path, &Change::Replace(vec![replacement])).await?;
    Ok(answer(context, &path, &changed.outcome))
}

/// Returns the answer to an edit.
pub(super) fn answer(context: &ToolContext<'_>, typed: &str, outcome: &Outcome) -> ToolAnswer {
    let path = context.path(typed).ok();
    match outcome {
        Outcome::Replaced(places) => ToolAnswer::text(format!("Edited {typed}: replaced {places} occurrence(s)"))
            .structured(json!({ "path": path, "replaced": places })),
        Outcome::Lines(summary) => ToolAnswer::text(format!("Edited {typed}: {summary}"))
            .structured(json!({ "path": path, "summary": summary })),
    }
}
