//! Benchmarks of workden: each row a ratio, in one run on one machine, against something that
//! people use today. Absolute times say more about the machine than about the code.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to a terminal")]

mod contender;
mod docker;
mod files;
mod lines;
mod linux;
mod material;
mod memory;
mod options;
mod pods;
mod policy;
mod race;
mod random;
mod reference;
mod rows;
mod samples;
mod service;
mod subject;
mod table;
mod task;
mod tools;
mod worker;

use std::process::ExitCode;

use options::{OF_PODS, OF_ROWS, OF_SERVICE, OF_SHIPPED, Options};

/// Why a benchmark could not run, or failed.
type Failure = Box<dyn std::error::Error>;

type Benchmark = fn(&Options) -> Result<(), Failure>;

const USAGE: &str = "\
usage: cargo xtask bench files [--check] [--rounds N] [--only TEXT]
       cargo xtask bench policy [--check] [--rounds N] [--only TEXT]
       cargo xtask bench linux [--check] [--rounds N]
       cargo xtask bench docker [--check] [--rounds N]
       cargo xtask bench tools [--check] [--rounds N]
       cargo xtask bench service [--check] [--rounds N] [--soak SECONDS]
       cargo xtask bench pods [--check] [--rounds N] [--sessions N]
       cargo xtask bench race [--operations N] [--seconds N]

files: time and memory of the file half beside rg, find and pydantic-ai-backend
  --check         fail when a target is missed
  --rounds N      how often each contender runs (7, and at least 5 count)
  --only TEXT     rows whose name contains TEXT

policy: decisions a second, about paths and about commands, beside pydantic-ai-backend
  the same options

linux: what a Linux sandbox costs, beside bubblewrap and the host's own shell
  the same options but --only

docker: what a sandbox in a container costs, beside pydantic-ai-backend and `docker run` on the same daemon
  the same options but --only

tools: the MCP server beside @modelcontextprotocol/server-filesystem, and a flood through execute
  the same options but --only

service: `workden serve` beside sandboxd of pydantic-ai-backend on the same daemon; and sessions, terminals and idle
ones with Linux sandboxes
  the same options but --only
  --soak SECONDS  instead: use it for so long, and look whether memory grows or something is left (3600 for an hour)

pods: managers of sessions in a cluster: claims of spare pods, and sessions that exist only in the API server
  the same options but --only
  --sessions N    how many of them there are (10000)

race: every call while directories are exchanged with links that lead outside, and then with links
that lead to a directory inside which a rule denies
  --operations N  how many calls to make in each (1000000)
  --seconds N     when to stop at the latest, half of it for each (3600)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let of_rows = |words: &[&str], run: Benchmark| run(&Options::parse(words, OF_ROWS, rows::ROUNDS)?);
    let of_shipped = |words: &[&str], rounds, run: Benchmark| run(&Options::parse(words, OF_SHIPPED, rounds)?);
    let outcome = match words.as_slice() {
        ["files", rest @ ..] => of_rows(rest, files::run),
        ["policy", rest @ ..] => of_rows(rest, policy::run),
        ["linux", rest @ ..] => of_shipped(rest, linux::ROUNDS, linux::run),
        ["docker", rest @ ..] => of_shipped(rest, docker::ROUNDS, docker::run),
        ["service", rest @ ..] => {
            Options::parse(rest, OF_SERVICE, service::ROUNDS).and_then(|options| service::run(&options))
        }
        ["tools", rest @ ..] => of_shipped(rest, tools::ROUNDS, tools::run),
        ["pods", rest @ ..] => Options::parse(rest, OF_PODS, pods::ROUNDS).and_then(|options| pods::run(&options)),
        ["race", rest @ ..] => race::Options::parse(rest).and_then(|options| race::run(&options)),
        ["race-exchange", root] => race::exchange(root),
        // How the benchmark starts itself: every contender is a separate process.
        ["manager", namespace, owner] => pods::serve(namespace, owner),
        ["worker", kind, task] => worker::run(kind, task),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
