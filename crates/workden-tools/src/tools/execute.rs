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
    #[schemars(range(min = 1, max = 86400))]
    timeout: u64,
}

fn usual_timeout() -> u64 {
    limits::EXECUTE_TIME.as_secs()
}

super::tool!(execute, Input, Commands, RUNS, &["execute"], |offer| {
    let files: Vec<&str> = [
        offer.if_has("read_file", "read_file instead of cat, head or tail"),
        offer.edit_tool().map_or("", |edit| match edit {
            "edit_file" => "edit_file instead of sed or awk",
            _ => "hashline_edit instead of sed or awk",
        }),
        offer.if_has("write_file", "write_file instead of echo or a heredoc"),
        offer.if_has("grep", "grep instead of the program of that name"),
        offer.if_has("glob", "glob instead of find"),
    ]
    .into_iter()
    .filter(|advice| !advice.is_empty())
    .collect();
    let files = match files.is_empty() {
        true => String::new(),
        false => format!("\n- For files, the other tools say more and cost less: {}.", files.join(", ")),
    };
    let background = offer
        .if_has("run_in_background", "\n- Servers, watchers and whatever does not end by itself: run_in_background.");
    let rest = offer.if_has("read_output", " The answer names an id with which read_output shows the rest.");
    format!(
        "Run a command line in a shell and wait for its end. The answer is what it printed, standard output and \
         standard error in the order in which they came; when it fails, its exit code stands in front.\n\
         - Each call is a new shell in the working directory: a cd or a variable does not last until the next call. \
         Chain what belongs together with &&.\n\
         - Quote paths with spaces. There is no terminal and no standard input: pass options such as -y or \
         --no-pager to programs that would ask or page.\n\
         - After timeout seconds the command is stopped, with everything that it started; what it printed until then \
         is in the answer.\n\
         - Of a long output the beginning and the end are shown.{rest}{background}{files}"
    )
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
