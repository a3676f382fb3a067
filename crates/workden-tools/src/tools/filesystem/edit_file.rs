//! `edit_file` for documents: the one place where a text stands.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::text::{Change, Replacement};

use crate::{ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to edit.
    path: String,
    /// The text to replace, exactly as it stands in the file; it has to stand there once.
    old_text: String,
    /// The text to put in its place.
    new_text: String,
}

super::tool!(edit_file, Input, Files, CHANGES, &["read", "edit"], |_| {
    "Replace a text in a file by another. The old text has to stand there exactly once; add what is around it until \
     it does. An edit of a file that changed since you read it is refused."
        .to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { path, old_text, new_text } = input;
    let (old, new) = (old_text.chars().count(), new_text.chars().count());
    context.change(&path, &Change::Replace(vec![Replacement::once(old_text, new_text)])).await?;
    Ok(ToolAnswer::text(format!("Edited {path}: replaced {old} chars with {new} chars"))
        .structured(json!({ "path": context.path(&path)?, "old_chars": old, "new_chars": new })))
}
