//! `delete_file`: deletes a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::{Backend, Removal, Symlink, settled};

use crate::{ToolAnswer, ToolFailure, filesystem_errors::FileAction, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to delete. Of a symbolic link, the link is deleted and not its target.
    path: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The path of the deleted file.
    deleted: String,
}

super::tool!(delete_file, "Delete file", Input => Output, Files, CHANGES, &["ls", "delete"], |_| {
    "Delete a file. It cannot be restored. Directories are not deleted.".to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let failed = |error| context.failed_to(FileAction::Delete, &input.path, error);
    super::only_a_file(context, "delete", &path).await.map_err(failed)?;
    let real = settled!(context.files, &path, Symlink::NoFollow, |at| {
        context.files.remove(&at, Removal::One).await.map(|()| at.real)
    })
    .map_err(failed)?;
    context.agent.seen_files.forget(&real);
    Ok(ToolAnswer::text(format!("Deleted {}", input.path)).data(&Output { deleted: path.to_string() }))
}
