//! `copy_file`: copies a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::{Backend, IfExists, Symlink, settled};

use crate::{ToolAnswer, ToolFailure, filesystem_errors::FileAction, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to copy.
    source: String,
    /// The path of the copy; it must not exist yet.
    destination: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The copied file.
    from: String,
    /// Its new path.
    to: String,
}

super::tool!(copy_file, "Copy file", Input => Output, Files, ADDS, &["read", "write"], |_| {
    "Copy a file. Missing directories are created; an existing destination is never replaced.".to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { source, destination } = input;
    let (from, to) = (context.path(&source)?, context.path(&destination)?);
    let failed = |error| context.failed_between(FileAction::Copy, &source, &destination, error);
    let (real, written) = settled!(context.files, &from, Symlink::Follow, |at| {
        match context.files.resolve(&to, Symlink::Follow).await {
            Ok(to) => context.files.copy(&at, &to, IfExists::Refuse).await.map(|written| (to.real, written)),
            Err(error) => Err(error),
        }
    })
    .map_err(failed)?;
    context.agent.seen_files.record_write(&real, written.version, None);
    Ok(ToolAnswer::text(format!("Copied {source} to {destination}"))
        .data(&Output { from: from.to_string(), to: to.to_string() }))
}
