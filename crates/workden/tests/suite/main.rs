//! Tests of a workspace through its public API.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[cfg(target_os = "linux")]
mod commands;
mod config;
mod config_pitfalls;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod toolset;
mod workspace;
