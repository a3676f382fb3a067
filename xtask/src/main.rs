//! What the project runs on itself: `cargo xtask test`, `tidy`, `bench`, `keeper`, `docker`, `clients`, `python`.
//!
//! Standard library only, so that the first `cargo xtask` on a fresh machine starts in seconds.
//! Nothing here knows workden: it starts other programs, and reads the project's own text.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to a terminal")]

mod clients;
mod docker;
mod installed;
mod keeper;
mod needs;
mod python;
mod steps;
mod tidy;
mod workspace;

use std::{env, process::ExitCode};

/// Why a command did not succeed, in a sentence.
type Outcome<T = ()> = Result<T, String>;

const HELP: &str = "\
cargo xtask <command>

  test            everything that must hold before a change is merged: installs what is missing
                  (as root on Debian; elsewhere it says what is missing and stops), then tidy,
                  all tests, all doctests, and the long checks: race, fuzzing, shells.
                  Three quarters of an hour on two cores the first time, a third of that later. CI runs this.
  test --fast     what one runs while working: rustfmt, clippy, the quick tests. Installs nothing.
  tidy            rustfmt, clippy with warnings denied, and the checks on our own text: module
                  docs, ARCHITECTURE.md names only what exists, no machine paths, no private
                  registries, no endless files. Each finding names file and line.
  bench <name>    a benchmark, in release mode; arguments after the name are passed on.
                    files    grep, glob, list, read, edit against rg, find and pydantic-ai-backend
                             (`--check` fails when a target is missed, `--only grep` for some rows)
                    policy   decisions a second, about paths and commands, against pydantic-ai-backend
                    linux    what a Linux sandbox costs, against bubblewrap and the host's own shell
                    docker   what a sandbox in a container costs, against pydantic-ai-backend on the same daemon
                    tools    the MCP server against @modelcontextprotocol/server-filesystem: start, read_file,
                             search, memory; and a flood of output through execute (needs node and npm)
                    python   the Python package against pydantic-ai-backend and pydantic-ai-filesystem-sandbox
                             (`--check`, `--only`, `--rounds` as with files)
                    race     every call, a million times, while directories are exchanged with
                             links that lead outside, or to a directory that a rule denies
                             (`--seconds 30` for less)
  keeper          the keeper for containers: one static file that needs nothing around it. Says where
                  it is and how large, and that it runs in a root with nothing else in it.
  docker          what tests of containers need, for as long as a command runs: `cargo xtask docker -- cargo test
                  -p workden-sandboxes`. The daemon that is there (DOCKER_HOST, or the usual socket) or one of
                  its own; the images workden-test/busybox and workden-test/python, without any registry; a
                  Podman beside it. The command finds them by DOCKER_HOST and WORKDEN_TEST_PODMAN, and the
                  keeper by WORKDEN_KEEPER. Without a command it says these, and waits for Enter. Installs what
                  is missing, as `test` does, and leaves nothing but a tar file of each image in target/docker.
  clients         the clients of MCP that tests start (Python, Node.js), into target/clients, unless they
                  are there. `test` does this by itself; `cargo test -p workden-cli` needs it once.
  python          the Python package: builds it, makes an environment in target/python, and runs its tests there
                  (every line must be run by one), the examples, those in the documentation, and the check of
                  its types. `cargo xtask python -- -k grep` runs some tests, and only those. Among containers:
                  `cargo xtask docker -- cargo xtask python`.
  wheel           the wheel of the Python package, with the program and the keeper in it, and whether it works in
                  a new environment of each Python from 3.10 to 3.13 that is there. `--short`: of a debug build.
  help            this text

To fuzz alone: cargo run --release -p workden-fuzz -- --seconds 60

A step of `test` is a line in xtask/src/steps.rs; what it needs is a line in xtask/src/needs.rs.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => needs::provide(&[needs::NEEDS, needs::DOCKER].concat()).and_then(|()| steps::run(steps::FULL)),
        ["test", "--fast"] => steps::run(steps::FAST),
        ["tidy"] => tidy::run(),
        ["keeper"] => keeper::run(),
        ["docker"] => docker::run(&[]),
        ["docker", "--", command @ ..] => docker::run(command),
        ["minder", task @ ..] => docker::minder::run(task),
        ["clients"] => clients::run(),
        ["python"] => python::whole(&[]),
        ["wheel"] => python::wheel::run(python::wheel::Form::Shipped),
        ["wheel", "--short"] => python::wheel::run(python::wheel::Form::Short),
        ["python", "--", arguments @ ..] => python::some(arguments),
        ["bench"] => {
            Err("which benchmark? files, policy, linux, docker, tools, python or race\nhint: cargo xtask bench files"
                .to_owned())
        }
        ["bench", "python", rest @ ..] => python::bench::run(rest),
        ["bench", name, rest @ ..] => bench(name, rest),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("there is no `cargo xtask {}`\nhint: cargo xtask help", other.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// Benchmarks parse their own arguments, so a new one needs no change here.
fn bench(name: &str, rest: &[&str]) -> Outcome {
    let mut cargo = vec!["run", "--release", "--quiet", "--package", "workden-bench", "--", name];
    cargo.extend(rest);
    // What a sandbox or a server costs is a matter of the programs that are shipped.
    let shipped = match name {
        "linux" | "docker" => vec![keeper::build_command_line()?, keeper::build()?],
        "tools" => vec![keeper::build_command_line()?],
        _ => Vec::new(),
    };
    let shipped: Vec<String> = shipped.iter().map(|file| file.display().to_string()).collect();
    for (option, file) in ["--program", "--keeper"].into_iter().zip(&shipped) {
        cargo.extend([option, file]);
    }
    let prepared = if name == "docker" { Some(docker::prepare()?) } else { None };
    let environment = prepared.as_ref().map_or(&[][..], |made| &made.environment);
    workspace::cargo_with(&cargo, environment).map_err(|_| format!("the benchmark `{name}` failed"))
}
