//! The server from outside: a real client over streams in memory and over HTTP, and raw lines.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]
#![cfg(target_os = "linux")]

mod agents;
mod approvals;
mod cancellation;
mod client;
mod http;
mod quotas;
mod raw_lines;
mod resources;
mod test_workspace;
mod tools;
