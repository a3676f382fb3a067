//! The binary `workden` as users and programs run it, and the library with this binary as its keeper. These tests need
//! no daemon and no installed client; those that do are in `services`.
//!
//! All tests share one process and one machine, so each looks only at its own processes, found by a unique argument,
//! and its own directories. A test that counts what a process holds runs in a separate process.

#![expect(clippy::unwrap_used, reason = "tests")]
#![cfg_attr(target_os = "linux", expect(clippy::panic, reason = "tests"))]

mod cli;

#[cfg(target_os = "linux")]
mod conformance;
#[cfg(target_os = "linux")]
mod family;
#[cfg(target_os = "linux")]
mod leftovers;
#[cfg(target_os = "linux")]
mod own_process;
#[cfg(target_os = "linux")]
mod project;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod sessions;
#[cfg(target_os = "linux")]
mod tool;
#[cfg(target_os = "linux")]
mod walls;

#[cfg(target_os = "linux")]
#[path = "../shared/checks.rs"]
mod checks;
#[cfg(target_os = "linux")]
#[path = "../shared/counts.rs"]
mod counts;
#[cfg(target_os = "linux")]
#[path = "../shared/processes.rs"]
mod processes;
#[cfg(target_os = "linux")]
#[path = "../shared/stalls.rs"]
mod stalls;
