//! `kill_shell`: stops a background command.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The id of the command.
    shell_id: String,
    /// Whether it ran and was stopped.
    killed: bool,
}

super::tool!(kill_shell, "Stop background command", Input => Output, BackgroundCommands, REPLACES, &["execute"], |_| {
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
    Ok(ToolAnswer::text(text).data(&Output { shell_id: id.0, killed }))
}
