//! `run_in_background`: starts a command and returns at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::{Sandbox, sandbox::JobRequest};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command line, which a shell runs in the working directory.
    command: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The id for read_output and kill_shell.
    shell_id: String,
    /// The process id in the sandbox.
    pid: u32,
}

super::tool!(run_in_background, "Start background command", Input => Output, BackgroundCommands, RUNS, &["execute"], |_| {
    "Start a command in a shell and continue while it runs: a server, a watcher, a long build. The answer has its id: \
     read_output shows its output, and kill_shell stops it. It runs until it ends, is stopped, or the sandbox ends."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let request = JobRequest::shell(input.command).directory(context.named_directory.clone());
    let job = context.commands()?.start_job(&request).await?;
    let text = format!(
        "Started background shell {id} (pid {pid}).\n\
         Use read_output('{id}') to follow its output and kill_shell('{id}') to stop it.",
        id = job.id,
        pid = job.pid
    );
    Ok(ToolAnswer::text(text).data(&Output { shell_id: job.id.0, pid: job.pid }))
}
