//! `edit_file` of the filesystem profile: replaces the only occurrence of a text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::text::{Change, Replacement};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to edit.
    path: String,
    /// The text to replace, exactly as in the file; it must occur once.
    old_text: String,
    /// The new text.
    new_text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    path: String,
    old_chars: usize,
    new_chars: usize,
}

super::tool!(edit_file, "Edit file", Input => Output, Files, CHANGES, &["read", "edit"], |_| {
    "Replace a text in a file. The old text must occur exactly once: add text around it until it does. An edit of a file \
     that changed since you read it is refused."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { path, old_text, new_text } = input;
    let (old, new) = (old_text.chars().count(), new_text.chars().count());
    context.change(&path, &Change::Replace(vec![Replacement::once(old_text, new_text)])).await?;
    Ok(ToolAnswer::text(format!("Edited {path}: replaced {old} chars with {new} chars")).data(&Output {
        path: context.path(&path)?.to_string(),
        old_chars: old,
        new_chars: new,
    }))
}
