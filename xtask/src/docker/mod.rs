//! `cargo xtask docker`: runs a command with a real daemon, the images that tests use, and a Podman.
//!
//! Nothing comes from an image registry. A service that is started here has its own directories, and ends with this
//! process: see `service`. A daemon that already runs is used, and left unchanged except for the two images.

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

use crate::{Outcome, keeper, needs, workspace};

/// The services for tests. They end when this value is dropped.
pub(crate) struct Prepared {
    /// The variables by which tests find them.
    pub(crate) environment: Vec<(&'static str, String)>,
    _podman: service::Service,
    _daemon: daemon::Daemon,
}

/// Runs a command with the services; without a command, prints their addresses and waits until standard input ends.
pub(crate) fn run(command: &[&str]) -> Outcome {
    let prepared = prepare(keeper::Form::Short)?;
    let Some((program, arguments)) = command.split_first() else {
        for (name, value) in &prepared.environment {
            println!("export {name}='{value}'");
        }
        println!("=== the services run until you press Enter or close the input");
        let mut one = [0];
        return std::io::stdin().read(&mut one).map(drop).map_err(|error| format!("cannot wait for input: {error}"));
    };
    let environment = prepared.environment.iter().map(|(name, value)| (name, value));
    workspace::succeed(workspace::command(program).args(arguments).envs(environment))
}

/// Creates the tar files of the images, which takes minutes the first time. Starts nothing.
pub(crate) fn make_images() -> Outcome {
    for image in [busybox::IMAGE, python::IMAGE] {
        (image.tar)(&(image.recipe)()?)?;
    }
    Ok(())
}

/// Returns the names of the images and their tar files, which are created if they do not exist.
pub(crate) fn image_tars() -> Outcome<Vec<(&'static str, PathBuf)>> {
    [busybox::IMAGE, python::IMAGE].iter().map(|image| Ok((image.name, (image.tar)(&(image.recipe)()?)?))).collect()
}

/// Builds the keeper, starts the services and loads their images.
pub(crate) fn prepare(form: keeper::Form) -> Outcome<Prepared> {
    needs::provide(needs::DOCKER)?;
    println!("=== the keeper for containers");
    let keeper =
        absolute(keeper::build(form)?).map_err(|error| format!("cannot find the path of the keeper: {error}"))?;
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

/// Returns the client for the daemon at `host`, whatever the user has configured.
fn docker(host: &str) -> Command {
    let mut command = Command::new("docker");
    command.args(["--host", host]).env_remove("DOCKER_CONTEXT").stdin(Stdio::null());
    command
}

fn answers(host: &str) -> bool {
    docker(host).arg("version").output().is_ok_and(|answer| answer.status.success())
}

/// Returns a new directory for sockets, whose paths may have at most about a hundred bytes.
fn short_directory(purpose: &str) -> Outcome<PathBuf> {
    new_directory(&short_above().join(format!("workden-{purpose}-{}", std::process::id())))
}

fn short_above() -> PathBuf {
    const LONGEST: usize = 40;
    let usual = env::temp_dir();
    if usual.as_os_str().len() > LONGEST { PathBuf::from("/tmp") } else { usual }
}

/// Creates a directory that must not exist yet, since it is removed with all its content.
fn new_directory(path: &Path) -> Outcome<PathBuf> {
    fs::create_dir(path).map_err(|error| format!("cannot create {}: {error}", path.display()))?;
    Ok(path.to_owned())
}

/// Returns the directory for images and data that are too large for a directory of temporary files.
fn large_directory() -> Outcome<PathBuf> {
    let path = absolute(workspace::target_directory().join("docker"));
    path.and_then(|path| fs::create_dir_all(&path).map(|()| path))
        .map_err(|error| format!("cannot create the directory for images: {error}"))
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
