//! `read_output`: what a background command has printed since it was last asked.

use std::{sync::PoisonError, time::Duration};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    Sandbox,
    sandbox::{JobId, JobRead, JobState},
};

use crate::{ToolAnswer, ToolFailure, context::Context};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The id that run_in_background gave, or that an answer of execute names for its full output.
    shell_id: String,
    /// Read from this byte on; if left out, what is new since the last time.
    #[serde(default)]
    offset: Option<u64>,
    /// How many seconds to wait when there is nothing new yet.
    #[serde(default)]
    #[schemars(range(max = 60))]
    wait: u64,
}

super::tool!(read_output, Input, Background, LOOKS_ON, &["execute"], |_| {
    "Show what a background command has printed since you last looked, and whether it is still running. With wait, \
     the answer comes as soon as there is something new."
        .to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let id = JobId(input.shell_id);
    let heard = || context.memory.heard.lock().unwrap_or_else(PoisonError::into_inner);
    let offset = input.offset.unwrap_or_else(|| heard().get(&id).copied().unwrap_or(0));
    let read = JobRead { wait: Duration::from_secs(input.wait.min(60)), ..JobRead::from(offset) };
    let output = context.commands()?.read_job(&id, &read).await?;
    if input.offset.is_none() {
        let mut heard = heard();
        let so_far = heard.entry(id.clone()).or_default();
        *so_far = output.next.max(*so_far);
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
        "output": body,
        "next_offset": output.next,
    })))
}
