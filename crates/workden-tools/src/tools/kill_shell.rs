//! `kill_shell`: the end of a background command.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    ErrorKind, Sandbox,
    sandbox::{JobId, Killed},
};

use crate::{ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id that run_in_background gave.
    shell_id: String,
}

super::tool!(kill_shell, Input, Background, REPLACES, &["execute"], |_| {
    "Stop a background command with everything that it started. What it printed can still be read.".to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let id = JobId(input.shell_id);
    let killed = match context.commands()?.kill_job(&id).await {
        Ok(Killed::Stopped) => true,
        Ok(Killed::AlreadyOver) => false,
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error.into()),
    };
    let text = match killed {
        true => format!("Killed background shell {id}."),
        false => format!("Background shell {id} was already finished or unknown."),
    };
    Ok(ToolAnswer::text(text).structured(json!({ "shell_id": id, "killed": killed })))
}
