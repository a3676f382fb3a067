//! Containers of the prepared daemon, with names that are unique to a test.

use std::{
    path::PathBuf,
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
};

use workden_sandboxes::{
    HostEnvironment,
    docker::{ContainerKeepers, Daemon, DockerSandbox, DockerSandboxBuilder},
};

/// An image with only busybox.
pub(crate) const BUSYBOX: &str = "workden-test/busybox:latest";
/// Debian with Python.
pub(crate) const PYTHON: &str = "workden-test/python:latest";

/// Returns the prepared daemon.
pub(crate) fn daemon() -> Daemon {
    let host = HostEnvironment::from_process();
    let prepared = host.variable("DOCKER_HOST").is_some() && host.variable("WORKDEN_KEEPER").is_some();
    assert!(prepared, "no daemon is prepared: run `cargo xtask docker -- cargo test -p workden-cli --test services`");
    Daemon::of_environment(&host).unwrap()
}

pub(crate) fn keepers() -> ContainerKeepers {
    ContainerKeepers::at(PathBuf::from(std::env::var_os("WORKDEN_KEEPER").unwrap()))
}

/// Returns the builder of a container with this image.
pub(crate) fn container(image: &str) -> DockerSandboxBuilder {
    DockerSandbox::builder().daemon(daemon()).image(image).keepers(keepers())
}

/// Runs the Docker command line with the same daemon.
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

/// Returns a unique name.
pub(crate) fn unique(what: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("workden-test-{what}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
