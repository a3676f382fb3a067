//! `read_file` for documents: some characters of a file, as data.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    limits,
    text::{Extent, TextWindow},
};

use crate::{ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to read.
    path: String,
    /// How many characters to read at most.
    #[serde(default = "usual_chars")]
    max_chars: u64,
    /// How many characters to skip.
    #[serde(default)]
    offset: u64,
}

fn usual_chars() -> u64 {
    20_000
}

super::tool!(read_file, Input, Files, LOOKS, &["read"], |_| {
    "Read a text file, or a part of it. The answer is JSON: content, truncated (whether more follows), total_chars, \
     offset and chars_read. To go on reading, set offset to offset + chars_read."
        .to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let window = TextWindow::chars(input.offset, input.max_chars.min(limits::READ_CHARS));
    let excerpt =
        context.read_window(&path, window).await.map_err(|error| context.failed_reading(&input.path, error))?;
    let (offset, shown, total) = match excerpt.extent {
        Extent::Chars { offset, shown, total } | Extent::Lines { offset, shown, total } => (offset, shown, total),
    };
    let result = json!({
        "content": excerpt.text,
        "truncated": offset.saturating_add(shown) < total,
        "total_chars": total,
        "offset": offset,
        "chars_read": shown,
    });
    Ok(ToolAnswer::text(result.to_string()).structured(result))
}
