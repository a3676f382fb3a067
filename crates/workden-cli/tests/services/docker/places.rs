//! Sandboxes in containers of a prepared daemon, each test's own.

use std::{
    path::PathBuf,
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
};

use workden_sandboxes::{
    HostEnvironment,
    docker::{ContainerKeepers, Daemon, DockerSandbox, DockerSandboxBuilder},
};

/// An image with nothing in it but busybox.
pub(crate) const BUSYBOX: &str = "workden-test/busybox:latest";
/// A Debian with Python.
pub(crate) const PYTHON: &str = "workden-test/python:latest";

/// The daemon that was prepared.
pub(crate) fn daemon() -> Daemon {
    let host = HostEnvironment::from_process();
    let prepared = host.variable("DOCKER_HOST").is_some() && host.variable("WORKDEN_KEEPER").is_some();
    assert!(prepared, "no daemon is prepared: run `cargo xtask docker -- cargo test -p workden-cli --test services`");
    Daemon::of_environment(&host).unwrap()
}

pub(crate) fn keepers() -> ContainerKeepers {
    ContainerKeepers::at(PathBuf::from(std::env::var_os("WORKDEN_KEEPER").unwrap()))
}

/// A container of this image.
pub(crate) fn container(image: &str) -> DockerSandboxBuilder {
    DockerSandbox::builder().daemon(daemon()).image(image).keepers(keepers())
}

/// The command line of Docker, talking to the same daemon.
pub(crate) fn docker(words: &[&str]) -> String {
    let output = Command::new("docker").args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "docker {words:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// Runs the binary.
pub(crate) fn workden(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_workden")).args(arguments).output().unwrap()
}

/// A name that no other test has.
pub(crate) fn unique(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("workden-test-{what}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
