//! Sandboxes of Daytona, over a stub of its API whose sandboxes really run: the conformance suite with a keeper and
//! without, starts that fail, faults of the service, and what is left behind.
//!
//! `WORKDEN_KEEPER` names a static keeper: `cargo xtask keeper` builds one. Each test has a stub of its own.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod cli;
mod conforming;
mod delay;
mod differences;
mod ending;
mod faults;
mod keepers;
mod latency;
mod places;
mod secrecy;
mod starting;

#[path = "../shared/checks.rs"]
mod checks;
#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../shared/processes.rs"]
mod processes;
#[path = "../shared/reused_sandboxes.rs"]
mod reused_sandboxes;
