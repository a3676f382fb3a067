//! `delete_file`: a file is taken away.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{Backend, Removal, Symlink};

use crate::{ToolAnswer, ToolFailure, changing::settled, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to delete. A link is deleted, not what it leads to.
    path: String,
}

super::tool!(delete_file, Input, Files, CHANGES, &["ls", "delete"], |_| {
    "Delete a file. It cannot be brought back. Directories are not deleted.".to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let path = context.path(&input.path)?;
    let failed = |error| context.failed_deleting(&input.path, error);
    super::only_a_file(context, "delete", &path).await.map_err(failed)?;
    let (at, ()) = settled!(context, &path, Symlink::NoFollow, |at| context.files.remove(&at, Removal::One).await)
        .map_err(failed)?;
    context.memory.freshness.forget(&at.real);
    Ok(ToolAnswer::text(format!("Deleted {}", input.path)).structured(json!({ "deleted": path })))
}
