//! `read_file` of the filesystem profile: reads characters of a file, and answers as JSON.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    limits,
    text::{Extent, TextWindow},
};

use crate::{ToolAnswer, ToolFailure, filesystem_errors::FileAction, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to read.
    path: String,
    /// The largest number of characters to read.
    #[serde(default = "default_chars")]
    max_chars: u64,
    /// The number of characters to skip.
    #[serde(default)]
    offset: u64,
}

fn default_chars() -> u64 {
    20_000
}

super::tool!(read_file, "Read file", Input => text, Files, READS, &["read"], |_| {
    "Read a text file, or a part of it. The answer is JSON: content, truncated (whether more follows), total_chars, \
     offset and chars_read. To continue, set offset to offset + chars_read."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let window = TextWindow::chars(input.offset, input.max_chars.min(limits::READ_CHARS));
    let excerpt = context
        .read_window(&path, window)
        .await
        .map_err(|error| context.failed_to(FileAction::Read, &input.path, error))?;
    let (offset, shown, total) = match excerpt.extent {
        Extent::Chars { offset, shown, total } | Extent::Lines { offset, shown, total } => (offset, shown, total),
    };
    let mut result = json!({
        "content": excerpt.text,
        "truncated": offset.saturating_add(shown) < total,
        "total_chars": total,
        "offset": offset,
        "chars_read": shown,
    });
    let text = result.to_string();
    if let Some(facts) = result.as_object_mut() {
        facts.shift_remove("content");
    }
    Ok(ToolAnswer::text(text).structured(result))
}
