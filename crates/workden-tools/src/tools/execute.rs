//! `execute`: a command, run to its end.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    Sandbox, limits,
    sandbox::{Ended, ExecuteRequest, Executed},
};

use crate::{Progress, ToolAnswer, ToolFailure, context::Context};

/// How often somebody who follows a command hears of it.
const BEAT: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command line; a shell runs it in the working directory.
    command: String,
    /// How many seconds it may take.
    #[serde(default = "usual_timeout")]
    timeout: u64,
}

fn usual_timeout() -> u64 {
    limits::EXECUTE_TIME.as_secs()
}

super::tool!(execute, Input, Commands, RUNS, &["execute"], |_| {
    "Run a shell command in the sandbox and wait for its end.".to_owned()
});

async fn call(context: &Context<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let timeout = Duration::from_secs(input.timeout);
    let request = ExecuteRequest {
        directory: context.named_directory.clone(),
        ..ExecuteRequest::shell(input.command).timeout(timeout)
    };
    let sandbox = context.commands()?;
    let running = sandbox.execute(&request);
    let executed = match context.progress {
        None => running.await,
        Some(sink) => {
            let started = tokio::time::Instant::now();
            let mut beat = tokio::time::interval_at(started + BEAT, BEAT);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    executed = &mut running => break executed,
                    _ = beat.tick() => sink.report(Progress::Running { elapsed: started.elapsed(), timeout }),
                }
            }
        }
    };
    Ok(answer(&executed?, input.timeout))
}

fn answer(executed: &Executed, timeout: u64) -> ToolAnswer {
    let mut output = executed.output.text();
    for hit in &executed.limits_hit {
        output = format!("{output}\n[{}]", hit.sentence);
    }
    if output.is_empty() {
        output.push_str("(no output)");
    }
    let code = executed.exit_code();
    let text = match executed.ended {
        Ended::Exited(0) => output.clone(),
        Ended::TimedOut => format!("Command timed out after {timeout} seconds (exit code {code}):\n{output}"),
        Ended::Exited(_) | Ended::Signalled(_) => format!("Command failed (exit code {code}):\n{output}"),
    };
    ToolAnswer::text(text).structured(json!({
        "output": output,
        "exit_code": code,
        "timed_out": executed.ended == Ended::TimedOut,
        "duration_seconds": executed.duration.as_secs_f64(),
    }))
}
