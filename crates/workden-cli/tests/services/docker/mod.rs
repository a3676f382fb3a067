//! Containers with a real daemon: the conformance suite, further guarantees, and faults. Nothing of Docker is mocked.
//!
//! The daemon is the one of `DOCKER_HOST`, with the images that `cargo xtask docker` prepares. Whatever a test creates
//! on the daemon has a unique name, and is removed when the test ends.

mod commandline;
mod compose;
mod conforming;
mod covers;
mod faults;
mod gvisor;
mod nested;
mod options;
mod other_numbers;
mod own_daemon;
mod places;
mod podman;
mod proxy;
mod restarts;
mod runtimes;
mod sessions;
mod walls;
mod workspace;
