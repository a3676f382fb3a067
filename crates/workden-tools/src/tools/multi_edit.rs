//! `multi_edit`: several replacements in one file, all or none.

use schemars::JsonSchema;
use serde::Deserialize;
use workden_core::text::{Change, Replacement};

use crate::{ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to edit.
    path: String,
    /// The replacements, each made on what the one before has left.
    edits: Vec<Edit>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// The text to replace, exactly as it stands in the file.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every place where the text stands.
    #[serde(default)]
    replace_all: bool,
}

super::tool!(multi_edit, Input, Files, CHANGES, &["read", "edit"], |_| {
    "Make several replacements in one file at once, in the order given. If one of them does not fit, none is made."
        .to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let replacement = |edit: Edit| match edit.replace_all {
        true => Replacement::all(edit.old_string, edit.new_string),
        false => Replacement::once(edit.old_string, edit.new_string),
    };
    let change = Change::Replace(input.edits.into_iter().map(replacement).collect());
    let changed = context.change(&input.path, &change).await?;
    Ok(super::edit_file::answer(context, &input.path, &changed.outcome))
}
