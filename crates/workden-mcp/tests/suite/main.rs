//! The server from outside: a real client over streams in memory and over real HTTP, and lines that no
//! client would send.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests are tests")]
#![cfg(target_os = "linux")]

mod agents;
mod approvals;
mod bounds;
mod client;
mod ends;
mod http;
mod lines;
mod place;
mod resources;
mod tools;
