//! `read_output`: reads the new output of a background command.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    Sandbox,
    sandbox::{JobId, JobRead, JobState},
};

use crate::{ToolAnswer, ToolFailure, tool_context::ToolContext};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id from run_in_background, or the id that an answer of execute names for its full output.
    shell_id: String,
    /// The byte to read from; default: the end of the last read.
    #[serde(default)]
    offset: Option<u64>,
    /// The time to wait for new output, in seconds.
    #[serde(default)]
    #[schemars(range(max = 60))]
    wait: u64,
}

super::tool!(read_output, "Read output of background command", Input => text, BackgroundCommands, READS_NEWS, &["execute"], |_| {
    "Read the output of a background command since the last read, and its state. With wait, the answer comes as soon as \
     there is new output."
        .to_owned()
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let id = JobId(input.shell_id);
    let offset = input.offset.unwrap_or_else(|| context.agent.read_offset(&id));
    let most = context.options.output_chars() as u64;
    let read = JobRead::from(offset).most(most).wait(Duration::from_secs(input.wait.min(60)));
    let output = context.commands()?.read_job(&id, &read).await?;
    if input.offset.is_none() {
        context.agent.record_read(id.clone(), output.next);
    }
    let state = match output.job.state {
        JobState::Running => "running".to_owned(),
        JobState::Ended(ended) => format!("exited (code {})", ended.exit_code()),
    };
    let mut body = String::new();
    if output.skipped > 0 {
        body = format!("[... {} bytes are no longer in the log ...]\n", output.skipped);
    }
    body.push_str(if output.text.is_empty() { "(no new output)" } else { &output.text });
    let left = output.job.printed.saturating_sub(output.next);
    if left > 0 {
        body.push_str(&format!("\n... ({left} more bytes; call read_output again)"));
    }
    let exit_code = match output.job.state {
        JobState::Running => None,
        JobState::Ended(ended) => Some(ended.exit_code()),
    };
    Ok(ToolAnswer::text(format!("[{id}] {state}\n{body}")).structured(json!({
        "shell_id": id,
        "running": exit_code.is_none(),
        "exit_code": exit_code,
        "next_offset": output.next,
    })))
}
