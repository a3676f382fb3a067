//! Tests that need a Docker daemon, MCP clients of other projects, or registries of packages.
//!
//! `cargo xtask clients` installs the clients; `cargo xtask docker -- cargo test -p workden-cli --test services` starts
//! a daemon with the images that these tests use. `cargo xtask test` does both.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod clients;
mod docker;
mod packages;

#[path = "../shared/checks.rs"]
mod checks;
#[path = "../shared/counts.rs"]
mod counts;
#[path = "../shared/gvisor_checks.rs"]
mod gvisor_checks;
#[path = "../shared/processes.rs"]
mod processes;
#[path = "../shared/reused_sandboxes.rs"]
mod reused_sandboxes;
#[path = "../shared/stalls.rs"]
mod stalls;
