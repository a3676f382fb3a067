//! `write_file` of the filesystem profile.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to write; missing directories are created.
    path: String,
    /// The whole content of the file.
    content: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    path: String,
    chars: usize,
}

super::tool!(write_file, "Write file", Input => Output, Files, REPLACES, &["write"], |_| {
    "Write a whole text file. An existing file is replaced; missing directories are created.".to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let chars = input.content.chars().count();
    context.write(&path, input.content).await.map_err(|error| context.failed(&input.path, error))?;
    Ok(ToolAnswer::text(format!("Written {chars} characters to {}", input.path))
        .data(&Output { path: path.to_string(), chars }))
}
