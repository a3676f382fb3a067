//! `edit_file`: a text in a file is replaced by another.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::text::{Change, Outcome, Replacement};

use crate::{ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to edit.
    path: String,
    /// The text to replace, exactly as it stands in the file, indentation included and line numbers left out.
    old_string: String,
    /// The text to put in its place; empty to remove it.
    new_string: String,
    /// Replace every place where the text stands, not just the only one.
    #[serde(default)]
    replace_all: bool,
}

super::tool!(edit_file, Input, Files, CHANGES, &["read", "edit"], |_| {
    "Replace a text in a file by another. The old text has to stand there exactly once: add lines around it until it \
     does, or set replace_all. Everything else in the file stays as it is, byte for byte. An edit of a file that \
     changed since you read it is refused."
        .to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { path, old_string, new_string, replace_all } = input;
    let replacement =
        if replace_all { Replacement::all(old_string, new_string) } else { Replacement::once(old_string, new_string) };
    let changed = context.change(&path, &Change::Replace(vec![replacement])).await?;
    Ok(answer(context, &path, &changed.outcome))
}

/// The answer to replacements.
pub(super) fn answer(context: &Context<'_>, typed: &str, outcome: &Outcome) -> ToolAnswer {
    let path = context.path(typed).ok();
    match outcome {
        Outcome::Replaced(places) => ToolAnswer::text(format!("Edited {typed}: replaced {places} occurrence(s)"))
            .structured(json!({ "path": path, "replaced": places })),
        Outcome::Lines(summary) => ToolAnswer::text(format!("Edited {typed}: {summary}"))
            .structured(json!({ "path": path, "summary": summary })),
    }
}
