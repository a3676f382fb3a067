//! The binary as a user runs it: its output, its exit codes, and the transcripts in the documents.

mod demo;
mod documents;
mod policy;
mod runtimes;
mod sessions;

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

/// Runs the binary, without environment variables for colours.
fn workden(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    command(arguments).envs(environment.iter().copied()).output().unwrap()
}

/// Runs the binary with input.
fn workden_fed(arguments: &[&str], input: &[u8]) -> Output {
    let mut child =
        command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"] {
        command.env_remove(name);
    }
    command.args(arguments);
    command
}

/// Asserts success and returns the output.
fn printed(output: Output) -> String {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaint.is_empty(), "{complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// Reads a file of the repository.
fn document(name: &str) -> String {
    std::fs::read_to_string(format!("{}/../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}
