//! `cargo xtask docker`: a real daemon with the images that tests use, a Podman beside it, and a command among them.
//!
//! Nothing comes from an image registry. A service that is started here has directories of its own, and ends with this
//! process: see `service`. A daemon that is there already is used, and left as it was but for
//! the two images.

mod busybox;
mod daemon;
mod images;
mod leftovers;
mod network;
mod podman;
mod python;
mod service;

use std::{
    env, fs,
    io::Read,
    path::{Path, PathBuf, absolute},
    process::{Command, Stdio},
};

use crate::{Outcome, keeper, needs};

/// What is there for tests, for as long as this value is.
pub(crate) struct Prepared {
    /// What tests find it by.
    pub(crate) environment: Vec<(&'static str, String)>,
    _podman: service::Service,
    _daemon: daemon::Daemon,
}

/// Runs a command among it all; without one it says what is there, and keeps it until its input ends.
pub(crate) fn run(command: &[&str]) -> Outcome {
    let prepared = prepare(keeper::Form::Short)?;
    let Some((program, arguments)) = command.split_first() else {
        for (name, value) in &prepared.environment {
            println!("export {name}='{value}'");
        }
        println!("=== all this is there until Enter, or the end of input");
        let mut one = [0];
        return std::io::stdin().read(&mut one).map(drop).map_err(|error| format!("cannot wait for input: {error}"));
    };
    let environment = prepared.environment.iter().map(|(name, value)| (name, value));
    let status = Command::new(program)
        .args(arguments)
        .envs(environment)
        .status()
        .map_err(|error| format!("cannot start {program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{program}` failed ({status})")) }
}

/// The content of the images, as tar files: minutes the first time, and nothing to start.
pub(crate) fn make_images() -> Outcome {
    for image in [busybox::IMAGE, python::IMAGE] {
        (image.tar)(&(image.recipe)()?)?;
    }
    Ok(())
}

/// Builds the keeper, starts the services and brings them their images.
pub(crate) fn prepare(form: keeper::Form) -> Outcome<Prepared> {
    needs::provide(needs::DOCKER)?;
    println!("=== the keeper for containers");
    let keeper = absolute(keeper::build(form)?).map_err(|error| format!("cannot say where the keeper is: {error}"))?;
    service::sweep(&large_directory()?, &short_above());
    let daemon = daemon::find_or_start()?;
    images::provide(&daemon.host, &busybox::IMAGE)?;
    images::provide(&daemon.host, &python::IMAGE)?;
    let (podman, podman_host) = podman::start()?;
    images::provide(&podman_host, &busybox::IMAGE)?;
    let environment = vec![
        ("DOCKER_HOST", daemon.host.clone()),
        ("WORKDEN_TEST_PODMAN", podman_host),
        ("WORKDEN_KEEPER", keeper.display().to_string()),
    ];
    Ok(Prepared { environment, _podman: podman, _daemon: daemon })
}

/// The client, for the daemon at `host` and no other, whatever the user has set.
fn docker(host: &str) -> Command {
    let mut command = Command::new("docker");
    command.args(["--host", host]).env_remove("DOCKER_CONTEXT").stdin(Stdio::null());
    command
}

fn answers(host: &str) -> bool {
    docker(host).arg("version").output().is_ok_and(|answer| answer.status.success())
}

/// A new directory for sockets, whose names may have no more than about a hundred bytes.
fn short_directory(purpose: &str) -> Outcome<PathBuf> {
    new_directory(&short_above().join(format!("workden-{purpose}-{}", std::process::id())))
}

fn short_above() -> PathBuf {
    const LONGEST: usize = 40;
    let usual = env::temp_dir();
    if usual.as_os_str().len() > LONGEST { PathBuf::from("/tmp") } else { usual }
}

/// A directory that was not there before, since it is removed with all that is in it.
fn new_directory(path: &Path) -> Outcome<PathBuf> {
    fs::create_dir(path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
    Ok(path.to_owned())
}

/// Where images and data are that are too large for a directory of temporary files.
fn large_directory() -> Outcome<PathBuf> {
    let path = absolute(keeper::target_directory().join("docker"));
    path.and_then(|path| fs::create_dir_all(&path).map(|()| path))
        .map_err(|error| format!("cannot make the directory for images: {error}"))
}

fn succeed(command: &mut Command) -> Outcome {
    let program = PathBuf::from(command.get_program());
    let said = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    let why = String::from_utf8_lossy(&said.stderr);
    if said.status.success() {
        Ok(())
    } else {
        Err(format!("{} failed ({}): {}", program.display(), said.status, why.trim()))
    }
}
