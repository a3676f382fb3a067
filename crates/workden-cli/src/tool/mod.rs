//! `workden tool`: calls the tools of a model, by hand or from a program.

mod answer;
mod jsonl;
mod list;
mod one;

use std::process::ExitCode;

use clap::Args;

use crate::{approval, failure::Failure, signals::ToldToEnd, workspace::WorkspaceArguments};

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden tool                                list the tools
  workden tool read_file '{\"path\": \"src/main.rs\", \"limit\": 20}'
  workden tool grep '{\"pattern\": \"TODO\"}' --root ../project
  workden tool execute '{\"command\": \"make test\"}' --yes
  workden tool write_file - --yes < arguments.json
  workden tool --jsonl --policy permissive    for a program: see below

With --jsonl each line of standard input is a request, and each line of output an answer:
  {\"id\": 1, \"tool\": \"read_file\", \"args\": {\"path\": \"a.md\"}}
  {\"id\":1,\"ok\":true,\"text\":\"...\"}
  {\"id\":2,\"ok\":false,\"kind\":\"not_found\",\"text\":\"...\"}

Requests run at the same time, and answers come in the order in which they finish: for a fixed order, wait for each \
answer or use --jobs 1. The process ends after the last answer when its input ends, and background commands end with it. \
If the reader of its output exits, it ends at once.

Rules: without --policy and --config, reading and searching are allowed, and changes and commands require approval: on a \
terminal you are asked, elsewhere they are refused unless you add --yes.

Exit codes:
  0  the tool answered; for execute: the exit code of its command
  0  with --jsonl: every line was answered, whatever the answers
  1  the tool failed or was refused; or the output could not be written
  2  invalid command line
  3  the workspace could not be opened
  128+N  ended by signal N

Environment:
  WORKDEN_LOG=info   a line on standard error for each call and each command
  WORKDEN_LOG=debug  also errors of the program inside the sandbox";

/// Arguments of `workden tool`.
#[derive(Debug, Args)]
pub(crate) struct ToolArguments {
    /// The tool to call [default: list the tools].
    name: Option<String>,
    /// Its arguments as a JSON object; `-` reads them from standard input [default: {}].
    #[arg(value_name = "ARGS", requires = "name")]
    arguments: Option<String>,
    /// Answer JSON lines from standard input, until it ends.
    #[arg(long, conflicts_with = "name")]
    jsonl: bool,
    /// With --jsonl: how many requests run at the same time.
    #[arg(long, value_name = "NUMBER", default_value_t = jsonl::MOST_AT_ONCE, requires = "jsonl",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(jsonl::MOST_AT_ONCE)))]
    jobs: u32,
    /// Print one JSON document instead: the answer with its data, or the tools with their schemas.
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,
    #[command(flatten)]
    workspace: WorkspaceArguments,
}

/// The exit code when the workspace could not be opened.
const NOT_OPENED: u8 = 3;

/// Calls a tool, answers lines, or lists the tools.
pub(crate) fn run(arguments: &ToolArguments) -> Result<ExitCode, Failure> {
    // One thread for waiting; files are read on other threads, which start on demand.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(Failure::Machine)?;
    let outcome = runtime.block_on(attended(arguments));
    // Threads that still read files have no caller left.
    runtime.shutdown_background();
    outcome
}

/// Runs the command until it ends or a signal arrives.
async fn attended(arguments: &ToolArguments) -> Result<ExitCode, Failure> {
    let mut told = ToldToEnd::listen().map_err(Failure::Machine)?;
    let asked = if arguments.jsonl { approval::beside_pipe() } else { approval::at_terminal() };
    let opened = match arguments.workspace.open(Some(asked)).await {
        Ok(opened) => opened,
        Err(failure) => {
            failure.tell();
            return Ok(failure.exit_code(NOT_OPENED));
        }
    };
    let work = async {
        match (&arguments.name, arguments.jsonl) {
            (_, true) => jsonl::run(&opened.tools, arguments.jobs).await,
            (None, false) => list::run(&opened.tools, arguments.json),
            (Some(name), false) => one::run(&opened.tools, name, arguments.arguments.as_deref(), arguments.json).await,
        }
    };
    let outcome = tokio::select! {
        outcome = work => outcome,
        (_, number) = told.next() => Ok(ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX))),
    };
    // The sandbox must not outlive this process.
    opened.close().await;
    outcome
}
