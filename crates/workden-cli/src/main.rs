//! `workden`, the command line: a face. It converts and shows; what may be done, and what an answer
//! says, is decided below it.

mod approval;
mod completions;
mod demo;
mod descriptor;
mod doctor;
mod failure;
mod place;
mod policy;
mod run;
mod signals;
mod tool;

use std::{io::Write, process::ExitCode};

use clap::{Parser, Subcommand};
use failure::Failure;
use workden_sandboxes::KEEPER_WORD;

/// File storage and sandboxes for AI agents, under a policy.
///
/// This is 0.1, under construction. Here are files (directories, memory, mounts, search, edits), a policy
/// over them, and isolated commands on Linux, with nothing to install.
#[derive(Debug, Parser)]
#[command(name = "workden", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the file half at work, in a temporary directory.
    ///
    /// Writes, reads, edits, searches and tries to break out, and prints each call with its answer.
    /// Every answer is checked: when one does not come out as shown, the demo says which and fails.
    /// Nothing outside the temporary directory is touched, and that is removed at the end.
    #[command(after_help = AFTER_DEMO_HELP)]
    Demo,
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
    /// Say what this machine can isolate, why not, and what would mend it.
    ///
    /// A whole sandbox is made and a program run in it, and every part is looked at by itself. Nothing of it
    /// is left afterwards, and nothing on the machine is changed.
    #[command(after_help = doctor::AFTER_HELP)]
    Doctor(doctor::DoctorArguments),
    /// Ask a policy what it says, without doing anything.
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// Print completions for a shell.
    #[command(after_help = completions::AFTER_HELP)]
    Completions(completions::CompletionsArguments),
}

const AFTER_DEMO_HELP: &str = "\
Exit codes:
  0  everything came out as shown
  1  something did not, or the output could not be written
  2  the command line could not be understood

Environment:
  NO_COLOR        no colours, also on a terminal (elsewhere there are none anyway)
  CLICOLOR_FORCE  colours, also where there is no terminal
  TMPDIR          where the demo makes its directory";

fn main() -> ExitCode {
    // Before anything else: a keeper starts as quickly as it can, and takes no memory that it does not need.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == KEEPER_WORD) {
        return workden_keeper::run(words);
    }
    let outcome = match Arguments::parse().command {
        Command::Demo => run_demo().map(|()| ExitCode::SUCCESS),
        Command::Run(arguments) => Ok(run::run(&arguments)),
        Command::Tool(arguments) => tool::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Policy(command) => policy::run(&command).map(|()| ExitCode::SUCCESS),
        Command::Completions(arguments) => {
            completions::run::<Arguments>(&arguments).map(|()| ExitCode::SUCCESS)
        }
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

fn run_demo() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().build().map_err(Failure::Machine)?;
    let mut out = anstream::stdout().lock();
    runtime.block_on(demo::run(&mut out))?;
    out.flush().map_err(Failure::Output)
}
