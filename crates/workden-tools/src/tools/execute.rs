//! `execute`: runs a command to its end.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use workden_core::{
    Sandbox, limits,
    sandbox::{Ended, ExecuteRequest, Executed, Output},
};

use crate::{Dialect, Progress, ToolAnswer, ToolFailure, ToolsetOptions, command_facts, tool_context::ToolContext};

/// Characters that are kept free for the exit code and for the line about a truncated output.
const NOTE_CHARS: usize = 400;
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

super::tool!(execute, "Run command", Input => text, Commands, RUNS, &["execute"], |offered| {
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
    let shell = command_facts::shell(offered.facts);
    let facts: String = command_facts::items(offered.facts).iter().map(|item| format!("\n- {item}")).collect();
    let most = offered.options.output_chars();
    format!(
        "Run a command line in a shell, {shell}, and wait for its end. The answer is its output, standard output and \
         standard error in the order of printing; if the command fails, the exit code comes first.\n\
         - Each call is a new shell in the working directory: cd and variables do not last until the next call. Chain \
         dependent commands with &&.\n\
         - Quote paths with spaces. There is no terminal and no standard input: pass options such as -y or --no-pager to \
         programs that would ask or page.{facts}\n\
         - After timeout seconds the command is stopped, with every process that it started; the answer has its output \
         until then.\n\
         - Output of more than {most} characters is truncated in the middle; the answer says how to see the rest.\
         {background}{files}"
    )
});

async fn call(context: &ToolContext<'_>, input: Input) -> Result<ToolAnswer, ToolFailure> {
    let asked = Duration::from_secs(input.timeout);
    let timeout = context.options.max_timeout.map_or(asked, |most| asked.min(most));
    let request = ExecuteRequest::shell(input.command).timeout(timeout);
    let most = match context.options.dialect {
        Dialect::Workden => context.options.output_chars().saturating_sub(NOTE_CHARS),
        Dialect::PydanticAiBackend => context.options.output_chars(),
    };
    let request = request.directory(context.named_directory.clone()).most_chars(most);
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
    Ok(answer(context.options, &executed?, timeout))
}

fn answer(options: &ToolsetOptions, executed: &Executed, timeout: Duration) -> ToolAnswer {
    let mut output = match options.dialect {
        Dialect::Workden => shown(options, &executed.output),
        Dialect::PydanticAiBackend => executed.output.text(),
    };
    output = executed.with_hints(output);
    for hit in &executed.limits_hit {
        output = format!("{output}\n[{}]", hit.sentence);
    }
    if output.is_empty() {
        output.push_str("(no output)");
    }
    let code = executed.exit_code();
    let text = match executed.ended {
        Ended::Exited(0) => output,
        Ended::TimedOut => {
            format!("Command timed out after {} seconds (exit code {code}):\n{output}", timeout.as_secs_f64())
        }
        Ended::Exited(_) | Ended::Signalled(_) => format!("Command failed (exit code {code}):\n{output}"),
    };
    let left_out = executed.output.left_out.as_ref().map_or(0, |left_out| left_out.bytes);
    ToolAnswer::text(text).structured(json!({
        "exit_code": code,
        "timed_out": executed.ended == Ended::TimedOut,
        "duration_seconds": executed.duration.as_secs_f64(),
        "truncated": left_out > 0,
        "left_out_bytes": left_out,
    }))
}

/// The output, with a line in its middle that says what is left out and how to see it.
fn shown(options: &ToolsetOptions, output: &Output) -> String {
    let Output { head, left_out: Some(left_out), tail, .. } = output else { return output.head.clone() };
    let (bytes, lines) = (left_out.bytes, left_out.lines);
    let total = bytes + (head.len() + tail.len()) as u64;
    let file = left_out.log.as_ref().and_then(|log| log.path.as_ref());
    let file = file.map(|path| format!("the whole output is in `{path}`, to read or search in parts"));
    let id = left_out.log.as_ref().map(|log| &log.id).filter(|_| options.include_background);
    let id = id.map(|id| format!("read_output shows all of it by the shell_id `{id}`"));
    let how = match (file, id) {
        (Some(file), Some(id)) => format!("{file}, and {id}"),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => "to see it, redirect the output to a file and read that in parts".to_owned(),
    };
    format!(
        "{head}\n[output is truncated in the middle: {bytes} of {total} bytes ({lines} lines) left out; {how}]\n{tail}"
    )
}
