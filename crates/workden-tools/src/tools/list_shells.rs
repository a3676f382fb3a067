//! `list_shells`: lists background commands.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
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

super::tool!(list_shells, Input, BackgroundCommands, READS, &["execute"], |_| {
    "List the background commands that you started, with their ids and states.".to_owned()
});

async fn call(context: &ToolContext<'_>, _: Input) -> Result<ToolAnswer, ToolFailure> {
    let jobs = context.commands()?.jobs().await?;
    let left_out = jobs.len().saturating_sub(SHOWN);
    // The newest come last, and are of more interest.
    let shown = &jobs[left_out..];
    let shells: Vec<_> = shown.iter().map(as_data).collect();
    let structured = json!({ "shells": shells, "left_out": left_out });
    if jobs.is_empty() {
        return Ok(ToolAnswer::text("No background shells.").structured(structured));
    }
    let mut lines: Vec<String> = shown.iter().map(line).collect();
    if left_out > 0 {
        lines.insert(0, format!("... and {left_out} older commands"));
    }
    Ok(ToolAnswer::text(lines.join("\n")).structured(structured))
}

fn line(job: &Job) -> String {
    let state = match job.state {
        JobState::Running => "running".to_owned(),
        JobState::Ended(ended) => format!("exited({})", ended.exit_code()),
    };
    format!("{}  {state}  {}", job.id, shown(&job.line))
}

fn as_data(job: &Job) -> serde_json::Value {
    let exit_code = match job.state {
        JobState::Running => None,
        JobState::Ended(ended) => Some(ended.exit_code()),
    };
    json!({
        "shell_id": job.id,
        "running": exit_code.is_none(),
        "exit_code": exit_code,
        "pid": job.pid,
        "command": shown(&job.line),
    })
}

fn shown(line: &str) -> String {
    let line = line.replace('\n', " ");
    match line.char_indices().nth(COMMAND_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
