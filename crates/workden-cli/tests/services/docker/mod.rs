//! Containers, with a real daemon: the conformance suite, what must hold besides, and what happens when things break.
//! Nothing of Docker is mocked.
//!
//! The daemon is the one of `DOCKER_HOST`, with the images that `cargo xtask docker` prepares. What a test makes on the
//! daemon has a name of its own, and goes when the test ends.

mod commandline;
mod conforming;
mod covers;
mod faults;
mod nested;
mod options;
mod own_daemon;
mod places;
mod podman;
mod proxy;
mod restarts;
mod runtimes;
mod sessions;
mod walls;
