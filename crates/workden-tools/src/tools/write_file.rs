//! `write_file`: a whole file, new or in place of what was there.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::Replaced;

use crate::{ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to write; directories above it are made if they are not there.
    path: String,
    /// The whole content of the file, exactly as it is to be stored.
    content: String,
}

super::tool!(write_file, Input, Files, REPLACES, &["write"], |offer| {
    let edit = offer.edit_tool().map_or(String::new(), |edit| {
        format!(" To change a part of a file that exists, {edit} costs less and keeps the rest as it is.")
    });
    format!(
        "Write a whole file, exactly as given. What was there before is replaced, and missing directories are \
         made.{edit}"
    )
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
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
