//! `write_file` for documents.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to write; directories above it are made if they are not there.
    path: String,
    /// The whole content of the file.
    content: String,
}

super::tool!(write_file, Input, Files, REPLACES, &["write"], |_| {
    "Write a whole text file. What was there before is replaced, and missing directories are made.".to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let chars = input.content.chars().count();
    context.write(&path, input.content).await.map_err(|error| context.failed(&input.path, error))?;
    Ok(ToolAnswer::text(format!("Written {chars} characters to {}", input.path))
        .structured(json!({ "path": path, "chars": chars })))
}
