//! Tests of the keeper: its commands, in this process and in one of its own; the walls of a confinement, tried
//! from inside; and the conformance suite.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "helpers of tests are tests")]

mod commands;
mod common;
mod confinement;
mod conformance;
mod jobs;
mod lease;
mod orphans;
mod ports;
mod program;
mod relay;
mod streams;
mod watching;
mod web;
