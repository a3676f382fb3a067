//! `workden serve` as its clients see it: a real service, real sandboxes, HTTP and websockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod approvals;
mod files;
mod keys;
mod lifetime;
mod mcp;
mod ports;
mod processes;
mod remote;
mod served;
mod trees;
mod watching;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../shared/checks.rs"]
mod checks;
#[path = "../shared/reused_sandboxes.rs"]
mod reused_sandboxes;
