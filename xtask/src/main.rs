//! The project's own commands: `cargo xtask test`, `tidy`, `bench`, `keeper`, `docker`, `clients`, `python`.
//!
//! Standard library only, so that the first `cargo xtask` on a fresh machine starts in seconds.
//! It knows nothing of workden: it starts other programs, and reads the project's own text.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line talks to a terminal")]

mod background;
mod clients;
mod deny;
mod dist;
mod docker;
mod emulated;
mod installed;
mod keeper;
mod kubernetes;
mod needs;
mod python;
mod steps;
mod tidy;
mod web;
mod workspace;

use std::{env, process::ExitCode};

/// The result of a command, with its error as a sentence.
type Outcome<T = ()> = Result<T, String>;

const HELP: &str = "\
cargo xtask <command>

  test            Run everything that must pass before a change is merged, as CI does. Installs missing packages
                  (as root on Debian; elsewhere it lists them and stops). 55 minutes on two cores the first time.
  test --fast     Run rustfmt, clippy and the quick tests. Installs nothing.
  test --kubernetes
                  Run only the tests that need a cluster, which is started for them. About 20 minutes on two cores.
  tidy            Run rustfmt, clippy and the checks on our own text: module docs, word list, machine paths,
                  registries, file length, that the committed dashboard is current, and that ARCHITECTURE.md names
                  only existing symbols.
  deny            Check licences, advisories and duplicate versions of the dependencies with cargo-deny.
  bench <name>    Run a benchmark in release mode; arguments after the name are passed on.
                    files    grep, glob, list, read, edit against rg, find and pydantic-ai-backend
                             (`--check` fails when a target is missed, `--only grep` selects rows)
                    policy   decisions a second, about paths and commands, against pydantic-ai-backend
                    linux    the cost of a Linux sandbox, against bubblewrap and the host's own shell
                    docker   the cost of a sandbox in a container, against pydantic-ai-backend on the same daemon
                    service  `workden serve` against sandboxd of pydantic-ai-backend on the same daemon; and a
                             thousand idle sessions, 200 terminals (`--soak 3600` for an hour of use)
                    tools    the MCP server against @modelcontextprotocol/server-filesystem: start, read_file,
                             search, memory; and a flood of output through execute (needs node and npm)
                    kubernetes
                             the cost of a sandbox in a pod, against pydantic-ai-backend in the same cluster
                    pods     managers of sessions in a cluster: claims of spare pods, 10,000 invented sessions
                    python   the Python package against pydantic-ai-backend and pydantic-ai-filesystem-sandbox
                             (`--check`, `--only`, `--rounds` as with files)
                    race     every call, a million times, while directories are exchanged with links that lead
                             outside, or to a directory that a rule denies (`--seconds 30` for less)
  keeper          Build the keeper for containers, one static file, and check that it runs in an empty root.
  docker          Run a command with the services that container tests need: `cargo xtask docker -- cargo test
                  -p workden-sandboxes`. Uses the daemon of DOCKER_HOST or the usual socket, or starts one; adds a
                  Podman, the images workden-test/busybox and workden-test/python (from no registry) and the
                  keeper. Without a command it prints their addresses and waits for Enter.
  kubernetes      Run a command with a Kubernetes cluster: `cargo xtask kubernetes -- cargo test -p workden-cli
                  --test kubernetes`. Uses the cluster of WORKDEN_TEST_KUBECONFIG, or starts one as root on Debian
                  with the scripts in cluster/ (17 CPU minutes the first time), imports the images, and removes it
                  afterwards.
  clients         Install the clients that tests start into target/clients: of MCP, Daytona, E2B and sandboxd,
                  Schemathesis, and what drives a browser.
  web             Build the dashboard from web/ into the crate of the service, where it is committed (needs npm).
  python          Build and test the Python package in an environment in target/python, with full line coverage,
                  the documented examples and the type check. `cargo xtask python -- -k grep` selects tests.
  wheel           Build the wheel of the Python package and try it in each Python from 3.10 to 3.13 on this
                  machine. `--short` uses a debug build.
  dist [PLATFORM...]
                  Build a release into target/dist: the program and a wheel for linux-x86_64, linux-aarch64,
                  macos-x86_64 and macos-aarch64, and the keepers for containers. Cross-compiles with zig.
  emulated        Run the tests of files, search and the keeper on aarch64, under qemu-user (as root).
  prepare         Install and download everything that `test` uses, and compile nothing. `test` starts it itself.
  build-cluster   Build the programs of the cluster that `kubernetes` starts.
  help            Print this text.

A step of `test` is a line in xtask/src/steps.rs; a package that it needs is a line in xtask/src/needs.rs.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => steps::run(steps::FULL),
        ["test", "--fast"] => steps::run(steps::FAST),
        ["test", "--kubernetes"] => steps::run(steps::CLUSTER),
        ["prepare"] => steps::prepare(),
        ["tidy"] => tidy::run(),
        ["deny"] => deny::run(),
        ["emulated"] => emulated::run(),
        ["dist", platforms @ ..] => dist::run(platforms),
        ["keeper"] => keeper::run(keeper::Form::Shipped),
        ["docker"] => docker::run(&[]),
        ["docker", "--", command @ ..] => docker::run(command),
        ["build-cluster"] => kubernetes::build(),
        ["kubernetes", "--", command @ ..] => kubernetes::run(command),
        ["clients"] => clients::run(),
        ["web"] => web::run(),
        ["python"] => python::whole(&[]),
        ["wheel"] => python::wheel::run(keeper::Form::Shipped),
        ["wheel", "--short"] => python::wheel::run(keeper::Form::Short),
        ["python", "--", arguments @ ..] => python::some(arguments, &[]),
        ["bench"] => {
            Err("which benchmark? files, policy, linux, docker, service, kubernetes, pods, tools, python or race\nhint: cargo xtask bench files"
                .to_owned())
        }
        ["bench", "python", rest @ ..] => python::bench::run(rest),
        ["bench", "kubernetes", rest @ ..] => python::bench::pods(rest),
        ["bench", name, rest @ ..] => bench(name, rest),
        [] | ["help" | "--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("unknown command `cargo xtask {}`\nhint: cargo xtask help", other.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            eprintln!("error: {sentence}");
            ExitCode::FAILURE
        }
    }
}

/// Benchmarks parse their own arguments, so that a new one needs no change here.
fn bench(name: &str, rest: &[&str]) -> Outcome {
    let mut cargo = vec!["run", "--release", "--quiet", "--package", "workden-bench", "--", name];
    cargo.extend(rest);
    // Sandboxes and servers are measured with the programs that are shipped.
    let shipped = match name {
        "linux" | "docker" | "service" => vec![keeper::build_command_line()?, keeper::build(keeper::Form::Shipped)?],
        "tools" => vec![keeper::build_command_line()?],
        _ => Vec::new(),
    };
    let shipped: Vec<String> = shipped.iter().map(|file| file.display().to_string()).collect();
    for (option, file) in ["--program", "--keeper"].into_iter().zip(&shipped) {
        cargo.extend([option, file]);
    }
    let daemon =
        if matches!(name, "docker" | "service") { Some(docker::prepare(keeper::Form::Shipped)?) } else { None };
    let cluster = if name == "pods" { Some(kubernetes::prepare(keeper::Form::Shipped)?) } else { None };
    let of_daemon = daemon.as_ref().map(|daemon| &*daemon.environment);
    let environment = of_daemon.or(cluster.as_ref().map(|cluster| &*cluster.environment)).unwrap_or_default();
    workspace::cargo_with(&cargo, environment).map_err(|_| format!("the benchmark `{name}` failed"))
}
