//! `move_file`: moves or renames a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The moved file.
    from: String,
    /// Its new path.
    to: String,
}

super::tool!(move_file, "Move file", Input => Output, Files, CHANGES, &["ls", "read", "delete", "write"], |_| {
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
    Ok(ToolAnswer::text(format!("Moved {source} to {destination}"))
        .data(&Output { from: from.to_string(), to: to.to_string() }))
}
