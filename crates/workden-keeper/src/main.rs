//! The keeper as a program of its own, for containers.

#![forbid(unsafe_code)]

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    // As with `workden`, which becomes a keeper with this word.
    words.next_if(|word| word == "keeper");
    workden_keeper::run(words)
}

/// Sandboxes run on Linux only.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
