//! `move_file`: moves or renames a file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{Backend, IfExists, Symlink, settled};

use crate::{ToolAnswer, ToolFailure, filesystem_errors::FileAction, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to move.
    source: String,
    /// The new path; it must not exist yet.
    destination: String,
}

super::tool!(move_file, Input, Files, CHANGES, &["ls", "read", "delete", "write"], |_| {
    "Move or rename a file. Missing directories are created; an existing destination is never replaced.".to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { source, destination } = input;
    let (from, to) = (context.path(&source)?, context.path(&destination)?);
    let failed = |error| context.failed_between(FileAction::Move, &source, &destination, error);
    super::only_a_file(context, "move", &from).await.map_err(failed)?;
    let (at, real) = settled!(context.files, &from, Symlink::NoFollow, |at| {
        match context.files.resolve(&to, Symlink::NoFollow).await {
            Ok(to) => context.files.rename(&at, &to, IfExists::Refuse).await.map(|()| (at, to.real)),
            Err(error) => Err(error),
        }
    })
    .map_err(failed)?;
    context.agent.seen_files.record_move(&at.real, &real);
    Ok(ToolAnswer::text(format!("Moved {source} to {destination}")).structured(json!({ "from": from, "to": to })))
}
