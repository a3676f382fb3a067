//! The stub over HTTP, with sandboxes that really run. The stub's own program is their keeper.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod client;
mod control;
mod execute;
mod faults;
mod files;
mod program;
mod proxy;
mod pty;
mod sessions;
