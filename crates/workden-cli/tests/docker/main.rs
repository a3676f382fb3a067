//! Containers, with a real daemon: the one that `DOCKER_HOST` names. Nothing of Docker is mocked.
//!
//! `cargo xtask docker -- cargo test -p workden-cli --test docker` brings a daemon and the images that are
//! wanted here. Whatever a test makes on the daemon has a name of its own, and goes when the test ends.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod runtimes;

use std::process::{Command, Output};

/// An image with Python and pip, in which builds can get at packages.
const PYTHON: &str = "workden-test/python:latest";
/// An image with busybox and nothing else.
const BUSYBOX: &str = "workden-test/busybox:latest";

/// The address of the daemon.
fn daemon_address() -> String {
    let hint = "run `cargo xtask docker -- cargo test -p workden-cli --test docker`, which brings a daemon";
    let address = std::env::var("DOCKER_HOST").unwrap_or_else(|_| panic!("DOCKER_HOST names no daemon: {hint}"));
    let images = Command::new("docker").args(["image", "inspect", BUSYBOX, PYTHON]).output();
    let images = images.unwrap_or_else(|error| panic!("there is no `docker` to look with ({error}): {hint}"));
    let complaint = String::from_utf8_lossy(&images.stderr);
    assert!(images.status.success(), "the daemon at {address} does not have what is wanted: {complaint}{hint}");
    address
}

/// What `docker` prints, which has to go well.
fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().unwrap();
    assert!(output.status.success(), "docker {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs the binary.
fn workden(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_workden")).args(arguments).output().unwrap()
}

/// A word that nobody else uses, at this time or another.
fn unique(word: &str) -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    format!("{word}-{}-{clock:x}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
