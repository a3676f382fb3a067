//! `list_shells`: lists background commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workden_core::{
    Sandbox,
    sandbox::{Job, JobState},
};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

/// Characters of a command that the list shows.
const COMMAND_CHARS: usize = 200;
/// Commands that the list shows.
const SHOWN: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Output {
    /// The newest commands, oldest first.
    shells: Vec<Shell>,
    /// Older commands that are not shown.
    left_out: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Shell {
    shell_id: String,
    running: bool,
    /// The exit code, once the command has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    pid: u32,
    command: String,
}

super::tool!(list_shells, "List background commands", Input => Output, BackgroundCommands, READS, &["execute"], |_| {
    "List the background commands that you started, with their ids and states.".to_owned()
});

async fn call(context: &ToolContext<'_>, _: Input) -> Result<ToolAnswer, ToolFailure> {
    let jobs = context.commands()?.jobs().await?;
    let left_out = jobs.len().saturating_sub(SHOWN);
    // The newest come last, and are of more interest.
    let shown = &jobs[left_out..];
    let output = Output { shells: shown.iter().map(as_data).collect(), left_out };
    if jobs.is_empty() {
        return Ok(ToolAnswer::text("No background shells.").data(&output));
    }
    let mut lines: Vec<String> = shown.iter().map(line).collect();
    if left_out > 0 {
        lines.insert(0, format!("... and {left_out} older commands"));
    }
    Ok(ToolAnswer::text(lines.join("\n")).data(&output))
}

fn line(job: &Job) -> String {
    let state = match job.state {
        JobState::Running => "running".to_owned(),
        JobState::Ended(ended) => format!("exited({})", ended.exit_code()),
    };
    format!("{}  {state}  {}", job.id, shown(&job.line))
}

fn as_data(job: &Job) -> Shell {
    let exit_code = match job.state {
        JobState::Running => None,
        JobState::Ended(ended) => Some(ended.exit_code()),
    };
    Shell {
        shell_id: job.id.0.clone(),
        running: exit_code.is_none(),
        exit_code,
        pid: job.pid,
        command: shown(&job.line),
    }
}

fn shown(line: &str) -> String {
    let line = line.replace('\n', " ");
    match line.char_indices().nth(COMMAND_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
