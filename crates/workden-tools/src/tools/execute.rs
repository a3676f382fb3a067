//! `execute`: runs a command to its end.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    Sandbox, limits,
    sandbox::{Ended, ExecuteRequest, Executed},
};

use crate::{Progress, ToolAnswer, ToolFailure, tool_context::ToolContext};

/// The interval of progress reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command line, which a shell runs in the working directory.
    command: String,
    /// The time limit in seconds.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1, max = 86400))]
    timeout: u64,
}

fn default_timeout() -> u64 {
    limits::EXECUTE_TIME.as_secs()
}

super::tool!(execute, Input, Commands, RUNS, &["execute"], |offered| {
    let files: Vec<&str> = [
        offered.if_has("read_file", "read_file instead of cat, head or tail"),
        offered.edit_tool().map_or("", |edit| match edit {
            "edit_file" => "edit_file instead of sed or awk",
            _ => "hashline_edit instead of sed or awk",
        }),
        offered.if_has("write_file", "write_file instead of echo or a heredoc"),
        offered.if_has("grep", "grep instead of the shell command"),
        offered.if_has("glob", "glob instead of find"),
    ]
    .into_iter()
    .filter(|advice| !advice.is_empty())
    .collect();
    let files = match files.is_empty() {
        true => String::new(),
        false => format!("\n- For files, prefer the other tools: {}.", files.join(", ")),
    };
    let background = offered.if_has(
        "run_in_background",
        "\n- For servers, watchers and other commands that do not end, use run_in_background.",
    );
    let rest = offered.if_has("read_output", " The answer names an id for read_output, which shows the rest.");
    format!(
        "Run a command line in a shell and wait for its end. The answer is its output, standard output and standard error \
         in the order of printing; if the command fails, the exit code comes first.\n\
         - Each call is a new shell in the working directory: cd and variables do not last until the next call. Chain \
         dependent commands with &&.\n\
         - Quote paths with spaces. There is no terminal and no standard input: pass options such as -y or --no-pager to \
         programs that would ask or page.\n\
         - After timeout seconds the command is stopped, with every process that it started; the answer has its output \
         until then.\n\
         - Of a long output the head and the tail are shown.{rest}{background}{files}"
    )
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let asked = Duration::from_secs(input.timeout);
    let timeout = context.options.max_timeout.map_or(asked, |most| asked.min(most));
    let request = ExecuteRequest::shell(input.command).timeout(timeout).directory(context.named_directory.clone());
    let sandbox = context.commands()?;
    let running = sandbox.execute(&request);
    let executed = match context.progress {
        None => running.await,
        Some(sink) => {
            let started = tokio::time::Instant::now();
            let mut beat = tokio::time::interval_at(started + REPORT_INTERVAL, REPORT_INTERVAL);
            tokio::pin!(running);
            loop {
                tokio::select! {
                    executed = &mut running => break executed,
                    _ = beat.tick() => sink.report(Progress::Running { elapsed: started.elapsed(), timeout }),
                }
            }
        }
    };
    Ok(answer(&executed?, timeout))
}

fn answer(executed: &Executed, timeout: Duration) -> ToolAnswer {
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
        Ended::TimedOut => {
            format!("Command timed out after {} seconds (exit code {code}):\n{output}", timeout.as_secs_f64())
        }
        Ended::Exited(_) | Ended::Signalled(_) => format!("Command failed (exit code {code}):\n{output}"),
    };
    ToolAnswer::text(text).structured(json!({
        "output": output,
        "exit_code": code,
        "timed_out": executed.ended == Ended::TimedOut,
        "duration_seconds": executed.duration.as_secs_f64(),
    }))
}
