//! `copy_file`: a second file with the same content.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{Backend, IfExists, Symlink};

use crate::{ToolAnswer, ToolFailure, changing::settled, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file to copy.
    source: String,
    /// Where to, with the name that the copy is to have; nothing may be there yet.
    destination: String,
}

super::tool!(copy_file, Input, Files, ADDS, &["read", "write"], |_| {
    "Copy a file. Missing directories are made; what is at the destination is never replaced.".to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let Input { source, destination } = input;
    let (from, to) = (context.path(&source)?, context.path(&destination)?);
    let failed = |error| context.failed_between("copy", &source, &destination, error);
    let (_, (real, written)) = settled!(context, &from, Symlink::Follow, |at| {
        match context.files.resolve(&to, Symlink::Follow).await {
            Ok(to) => context.files.copy(&at, &to, IfExists::Refuse).await.map(|written| (to.real, written)),
            Err(error) => Err(error),
        }
    })
    .map_err(failed)?;
    context.memory.freshness.wrote(&real, written.version, None);
    Ok(ToolAnswer::text(format!("Copied {source} to {destination}")).structured(json!({ "from": from, "to": to })))
}
