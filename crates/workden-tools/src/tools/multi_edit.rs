//! `multi_edit`: several replacements in one file, all or none.

use schemars::JsonSchema;
use serde::Deserialize;
use workden_core::text::{Change, Replacement};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to edit.
    path: String,
    /// The replacements, each applied to the result of the one before.
    edits: Vec<Edit>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The text to replace, exactly as in the file.
    old_string: String,
    /// The new text.
    new_string: String,
    /// Replace every occurrence of the text.
    #[serde(default)]
    replace_all: bool,
}

super::tool!(multi_edit, "Edit file in several places", Input => super::edit_file::Output, Files, CHANGES, &["read", "edit"], |_| {
    "Make several replacements in one file, in the order given. If one of them fails, none is made.".to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let replacement = |edit: Edit| match edit.replace_all {
        true => Replacement::all(edit.old_string, edit.new_string),
        false => Replacement::once(edit.old_string, edit.new_string),
    };
    let change = Change::Replace(input.edits.into_iter().map(replacement).collect());
    let changed = context.change(&input.path, &change).await?;
    Ok(super::edit_file::answer(context, &input.path, &changed))
}
