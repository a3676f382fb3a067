//! `kill_shell`: stops a background command.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    ErrorKind, Sandbox,
    sandbox::{JobId, Killed},
};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id from run_in_background.
    shell_id: String,
}

super::tool!(kill_shell, Input, BackgroundCommands, REPLACES, &["execute"], |_| {
    "Stop a background command with every process that it started. Its output can still be read.".to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
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
