//! Containers, with a real daemon: the conformance suite, what must hold besides, and what happens when things break.
//! Nothing of Docker is mocked.
//!
//! The daemon is the one of `DOCKER_HOST`: `cargo xtask docker -- cargo test -p workden-cli --test docker` brings one,
//! with the images that are wanted here, as `cargo xtask test` does by itself. Whatever a test makes on the daemon has
//! a name of its own, and goes when the test ends.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr, reason = "tests")]

mod commandline;
mod conforming;
mod covers;
mod faults;
mod options;
mod places;
mod podman;
mod proxy;
mod restarts;
mod runtimes;
mod sessions;
mod walls;
