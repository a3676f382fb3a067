//! `workden`, the command line: a face. It converts and shows; what may be done, and what an answer
//! says, is decided below it.

#![forbid(unsafe_code)]

mod approval;
mod completions;
mod containers;
mod demo;
mod descriptor;
mod doctor;
mod failure;
mod log;
mod mcp;
mod policy;
mod run;
mod runtimes;
mod sessions;
mod signals;
mod tool;
mod typed;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// File storage and sandboxes for AI agents, under a policy.
///
/// A place for an agent to work: tools for files and commands, a policy that holds, and isolated commands
/// on Linux with nothing to install. `workden demo` shows it; `workden mcp` gives it to your own agent.
///
/// This is 0.1, under construction.
#[derive(Debug, Parser)]
#[command(name = "workden", version, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch a scripted agent work: no model, no key, a few seconds.
    ///
    /// In a fresh directory and a sandbox of its own it writes a script, runs it, mends it, is refused a
    /// secret, and tries to get out; each call is shown with its answer. The calls are scripted, the tools
    /// and their answers are real, and every answer is checked: when one does not come out as it should,
    /// the demo says which and fails. Nothing outside its directory is touched, and that is removed.
    #[command(after_help = demo::AFTER_HELP)]
    Demo(demo::DemoArguments),
    /// Run a command in a sandbox of its own.
    ///
    /// The command sees the directory it works in as `/workspace`, the programs of this machine, and
    /// nothing else of it: no home directories, no other processes, no network. It may write to the
    /// directory and to its own /tmp. When it ends, everything that it started ends as well.
    ///
    /// Output comes as it is printed. Input is passed on unless it is a terminal; for that there is -t.
    #[command(after_help = run::AFTER_HELP)]
    Run(run::RunArguments),
    /// Call the tools that a model is given, by hand or from a program.
    ///
    /// Prints what a model would see. The tools work in a directory, under rules; commands run in a
    /// sandbox of their own, which starts with the first one. `workden tool` alone lists the tools.
    #[command(after_help = tool::AFTER_HELP)]
    Tool(Box<tool::ToolArguments>),
    /// Serve the tools to any MCP client: Claude Code, Cursor, VS Code, Pydantic AI, your own.
    ///
    /// Over standard input and output, or HTTP. The tools work in a directory, under rules; commands run
    /// in a sandbox of their own, which starts with the first one. Its files are there as resources.
    #[command(after_help = mcp::AFTER_HELP)]
    Mcp(Box<mcp::McpArguments>),
    /// Say what this machine can isolate, why not, and what would mend it.
    ///
    /// A whole sandbox is made and a program run in it, and every part is looked at by itself. Nothing of it
    /// is left afterwards, and nothing on the machine is changed.
    #[command(after_help = doctor::AFTER_HELP)]
    Doctor(doctor::DoctorArguments),
    /// Ask a policy what it says, without doing anything.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// What containers have installed: list, show, build and prune it.
    ///
    /// A runtime is an image, or a base image and the packages that are added to it. Images are built by a
    /// Docker or Podman daemon, and called by what is in them.
    #[command(subcommand, after_help = runtimes::AFTER_HELP)]
    Runtimes(runtimes::RuntimesCommand),
    /// Sandboxes with names, which outlive this command line: open, use, list and end them.
    ///
    /// A session is made once and found again by its id, by any command line of this user.
    #[command(subcommand, after_help = sessions::AFTER_HELP)]
    Sessions(sessions::SessionsCommand),
    /// Print completions for a shell.
    #[command(after_help = completions::AFTER_HELP)]
    Completions(completions::CompletionsArguments),
}

const AFTER_HELP: &str = "\
Examples:
  workden demo                              watch a scripted agent work
  workden mcp --print-config claude         what to paste into the configuration of your agent
  workden tool read_file '{\"path\": \"README.md\"}'
  workden run -- sh -c 'whoami; ls /home'   any command in a sandbox of its own
  workden doctor                            what this machine can isolate

Exit codes are said in the help of each command; 2 is always a command line that could not be
understood. `workden COMMAND --help` has examples of each.";

fn main() -> ExitCode {
    // Before anything else: a keeper starts as quickly as it can, and takes no memory that it does not need.
    workden::init();
    log::set_up();
    let outcome = match Arguments::parse().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Run(arguments) => Ok(run::run(&arguments)),
        Command::Tool(arguments) => tool::run(&arguments),
        Command::Mcp(arguments) => mcp::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Policy(command) => policy::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Runtimes(command) => runtimes::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Sessions(command) => sessions::run(&command),
        Command::Completions(arguments) => completions::run::<Arguments>(&arguments).map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(code) => code,
        // Whoever closed the pipe has seen enough, and wants to hear nothing.
        Err(failure) if failure.is_closed_pipe() => ExitCode::FAILURE,
        Err(failure) => {
            failure.tell();
            ExitCode::FAILURE
        }
    }
}
