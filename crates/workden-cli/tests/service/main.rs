//! `workden serve` as its clients see it: a real service, real sandboxes, HTTP and websockets.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod approvals;
mod audit;
mod changes;
mod copies;
mod database;
mod disk;
mod documented;
mod faults;
mod files;
mod keys;
mod lifetime;
mod mcp;
mod metrics;
mod overview;
mod ports;
mod processes;
mod refusals;
mod reload;
mod remote;
mod secrecy;
mod served;
mod slow_clients;
mod spares;
mod tls;
mod traces;
mod trees;
mod unit;
mod watching;

#[expect(dead_code, reason = "other tests use the rest")]
#[path = "../shared/checks.rs"]
mod checks;
#[path = "../shared/reused_sandboxes.rs"]
mod reused_sandboxes;
