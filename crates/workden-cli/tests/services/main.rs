//! What needs more than this machine has by itself: a Docker daemon, and clients of MCP that others wrote.
//!
//! `cargo xtask clients` installs the clients; `cargo xtask docker -- cargo test -p workden-cli --test services` brings
//! a daemon with the images that are used here. `cargo xtask test` does both.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod clients;
mod docker;

#[path = "../shared/checks.rs"]
mod checks;
#[path = "../shared/counts.rs"]
mod counts;
#[path = "../shared/processes.rs"]
mod processes;
#[path = "../shared/stalls.rs"]
mod stalls;
