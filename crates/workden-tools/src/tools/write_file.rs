//! `write_file`: creates or replaces a whole file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::Replaced;

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to write; missing directories are created.
    path: String,
    /// The whole content of the file.
    content: String,
}

super::tool!(write_file, Input, Files, REPLACES, &["write"], |offered| {
    let edit = offered.edit_tool().map_or(String::new(), |edit| format!(" To change a part of a file, use {edit}."));
    format!(
        "Write a whole file, exactly as given. An existing file is replaced; missing directories are created.{edit}"
    )
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let (lines, bytes) = (input.content.lines().count(), input.content.len());
    let written = context.write(&path, input.content).await.map_err(|error| context.failed(&input.path, error))?;
    Ok(ToolAnswer::text(format!("Wrote {lines} lines to {path}")).structured(json!({
        "path": path,
        "lines": lines,
        "bytes": bytes,
        "created": written.replaced == Replaced::Nothing,
    })))
}
