//! `write_file`: creates or replaces a whole file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    path: String,
    lines: u64,
    bytes: u64,
    /// Whether the file is new.
    created: bool,
}

super::tool!(write_file, "Write file", Input => Output, Files, REPLACES, &["write"], |offered| {
    let edit = offered.edit_tool().map_or(String::new(), |edit| format!(" To change a part of a file, use {edit}."));
    format!(
        "Write a whole file, exactly as given. An existing file is replaced; missing directories are created.{edit}"
    )
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let (lines, bytes) = (input.content.lines().count() as u64, input.content.len() as u64);
    let written = context.write(&path, input.content).await.map_err(|error| context.failed(&input.path, error))?;
    let text = context.options.dialect.wrote(lines, &path);
    let created = written.replaced == Replaced::Nothing;
    Ok(ToolAnswer::text(text).data(&Output { path: path.to_string(), lines, bytes, created }))
}
