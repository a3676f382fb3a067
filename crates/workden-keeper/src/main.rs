//! The keeper as a program of its own, for containers.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    workden_keeper::run(std::env::args_os().skip(1))
}

/// Sandboxes are Linux, wherever they are used from.
#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
