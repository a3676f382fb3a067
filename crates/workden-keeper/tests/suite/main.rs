//! What holds for every command of a keeper, in this process and in one of its own.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests are tests")]

mod commands;
mod common;
mod jobs;
mod lease;
mod orphans;
mod program;
mod relay;
mod streams;
