//! `workden`, the command line. It converts arguments and prints results; the libraries below it decide what is
//! allowed and what an answer says.

#![forbid(unsafe_code)]

mod approval;
mod cluster;
mod command_options;
mod completions;
mod containers;
mod demo;
mod descriptor;
mod doctor;
mod failure;
mod hosted;
mod isolation;
mod log;
mod mcp;
mod mistakes;
mod packages;
mod policy;
mod remote;
mod run;
mod runtimes;
#[cfg(feature = "server")]
mod serve;
mod sessions;
mod setup;
mod signals;
mod spinner;
mod tool;
mod typed;
mod user_sessions;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// File storage and sandboxes for AI agents, under a policy.
///
/// Gives an agent tools for files and commands, an enforced policy, and isolated commands on Linux with
/// nothing to install. `workden demo` shows it; `workden mcp` connects it to your own agent.
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
    /// In a new directory and sandbox the agent writes a script, runs it, fixes it, is refused a secret, and
    /// tries to get out; each call is shown with its answer. The calls are scripted, the tools and their
    /// answers are real, and every answer is checked: if one is wrong, the demo names it and fails. Nothing
    /// outside its directory is touched, and the directory is removed.
    #[command(after_help = demo::AFTER_HELP)]
    Demo(demo::DemoArguments),
    /// Run a command in a new sandbox.
    ///
    /// The command sees the directory it works in as `/workspace` (or at its own path: --path), the programs of this
    /// machine, and nothing else of it: no home directories, no other processes, no network. It may write to the
    /// directory and to its own /tmp. In a pod (`--sandbox kubernetes`) it sees an empty `/workspace` and the programs
    /// of the image. When it ends, everything that it started ends as well.
    ///
    /// Output is passed on as it is printed. Input is passed on unless it is a terminal; for a terminal use -t.
    #[command(after_help = run::AFTER_HELP)]
    Run(Box<run::RunArguments>),
    /// Call the tools that a model is given, by hand or from a program.
    ///
    /// Prints what a model would see. The tools work in a directory, under rules; commands run in a
    /// sandbox, which starts with the first one. `workden tool` alone lists the tools.
    #[command(after_help = tool::AFTER_HELP)]
    Tool(Box<tool::ToolArguments>),
    /// Serve the tools to any MCP client: Claude Code, Cursor, VS Code, Pydantic AI, your own.
    ///
    /// Over standard input and output, or HTTP. The tools work in a directory, under rules; commands run
    /// in a sandbox, which starts with the first one. Files are also served as resources.
    #[command(after_help = mcp::AFTER_HELP)]
    Mcp(Box<mcp::McpArguments>),
    /// Serve sessions, files, commands and approvals to a team over HTTP.
    ///
    /// Starts with nothing but a directory: Linux sandboxes, and records in SQLite. A configuration adds runtimes in
    /// Docker and Kubernetes, quotas, and a Postgres database that several services share.
    #[cfg(feature = "server")]
    #[command(after_help = serve::AFTER_HELP)]
    Serve(serve::ServeArguments),
    /// Install what a project needs: run the `[setup]` of its `workden.toml` in a sandbox, once.
    ///
    /// It runs again when one of its commands, or a file of its `cache_key`, has changed.
    #[command(after_help = setup::AFTER_HELP)]
    Setup(setup::SetupArguments),
    /// Check which isolation this machine supports and how to enable the rest.
    ///
    /// Starts a sandbox, runs a program in it, and then checks each part. It leaves nothing behind and changes
    /// nothing on the machine. With `--sandbox kubernetes` it checks a cluster instead, and with `--sandbox daytona` an
    /// account.
    #[command(after_help = doctor::AFTER_HELP)]
    Doctor(Box<doctor::DoctorArguments>),
    /// Ask a policy for its verdicts, without doing anything.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// List, show, build and prune runtimes: the software in containers.
    ///
    /// A runtime is an image, or a base image and the packages that are added to it. A Docker or Podman
    /// daemon builds the images, which are named after their content.
    #[command(subcommand, after_help = runtimes::AFTER_HELP)]
    Runtimes(runtimes::RuntimesCommand),
    /// Open, use, list and end sessions: named sandboxes that outlive this command.
    ///
    /// A session is created once; every later command of this user finds it by its id.
    #[command(subcommand, after_help = sessions::AFTER_HELP)]
    Sessions(sessions::SessionsCommand),
    /// Print completions for a shell.
    #[command(after_help = completions::AFTER_HELP)]
    Completions(completions::CompletionsArguments),
}

const AFTER_HELP: &str = "\
Examples:
  workden demo                              watch a scripted agent work
  workden mcp --print-config claude         what to paste, for your agent
  workden tool read_file '{\"path\": \"README.md\"}'
  workden run -- sh -c 'whoami; ls /home'   any command in a new sandbox
  workden doctor                            what this machine isolates

`workden COMMAND --help` lists examples and exit codes; 2 always means an invalid command line.";

fn main() -> ExitCode {
    // First, because a keeper must start quickly and take no memory that it does not need.
    workden::init();
    log::set_up();
    let outcome = match mistakes::parse::<Arguments>().command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Run(arguments) => Ok(run::run(&arguments)),
        Command::Tool(arguments) => tool::run(&arguments),
        Command::Mcp(arguments) => mcp::run(&arguments),
        #[cfg(feature = "server")]
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Setup(arguments) => setup::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Policy(command) => policy::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Runtimes(command) => runtimes::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Sessions(command) => sessions::run(&command),
        Command::Completions(arguments) => completions::run::<Arguments>(&arguments).map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(code) => code,
        // The reader closed the pipe on purpose, as `head` does: no message.
        Err(failure) if failure.is_closed_pipe() => ExitCode::FAILURE,
        Err(failure) => {
            failure.tell();
            failure.exit_code(1)
        }
    }
}
