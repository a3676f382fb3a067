//! Containers, with a real daemon: the conformance suite, what must hold besides, and what happens when things break.
//!
//! The daemon is the one of `DOCKER_HOST`, prepared by `cargo xtask docker -- COMMAND`, which `cargo xtask test` does
//! by itself.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod conforming;
mod faults;
mod options;
mod places;
mod proxy;
