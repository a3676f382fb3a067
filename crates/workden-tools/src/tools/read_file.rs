//! `read_file`: some lines of a file, numbered.

use schemars::JsonSchema;
use serde::Deserialize;
use workden_core::{
    limits,
    text::{Numbered, TextWindow, hashline},
};

use crate::{EditFormat, ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to read; relative paths start at the working directory.
    path: String,
    /// How many lines to skip.
    #[serde(default)]
    offset: u64,
    /// How many lines to show.
    #[serde(default = "usual_limit")]
    limit: u64,
}

fn usual_limit() -> u64 {
    limits::READ_LINES
}

super::tool!(read_file, Input, Files, LOOKS, &["read"], |_| {
    "Read a text file. Lines come numbered from 1; when more lines follow, the answer says so, and a larger offset \
     shows them."
        .to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let window = TextWindow::lines(input.offset, input.limit);
    let excerpt = context.read_window(&path, window).await.map_err(|error| context.failed(&input.path, error))?;
    let numbered = match context.options.edit_format {
        EditFormat::StrReplace => Numbered::of(&excerpt),
        EditFormat::Hashline => hashline::format(&excerpt),
    };
    match numbered.total {
        0 => Ok(ToolAnswer::text("(the file is empty)")),
        _ => Ok(ToolAnswer::text(numbered.text)),
    }
}
