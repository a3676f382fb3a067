//! The image of both services: a copy of the test image with a name of this run, by which what is left of a failed run is
//! found and removed.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use workden_sandboxes::{HostEnvironment, docker::Daemon};

use crate::Failure;

const BASE: &str = "workden-test/python:latest";

/// The image, which is removed with this value.
pub(super) struct Ground {
    pub(super) host: String,
    pub(super) image: String,
}

impl Ground {
    pub(super) fn prepare() -> Result<Self, Failure> {
        let host = Daemon::of_environment(&HostEnvironment::from_process())?.address();
        let ground = Self { host, image: format!("workden-bench-service-{}:latest", std::process::id()) };
        ground.docker(&["tag", BASE, &ground.image])?;
        Ok(ground)
    }

    /// The directory with the files of the peer's sessions.
    pub(super) fn peer_files(&self) -> PathBuf {
        std::env::temp_dir().join(format!("workden-bench-sandboxd-{}", std::process::id()))
    }

    fn docker(&self, arguments: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new("docker");
        command.args(["--host", &self.host]).args(arguments).env_remove("DOCKER_CONTEXT").stdin(Stdio::null());
        let said = command.output().map_err(|error| format!("cannot start docker: {error}"))?;
        match said.status.success() {
            true => Ok(String::from_utf8_lossy(&said.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&said.stderr).trim().to_owned().into()),
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let filter = format!("ancestor={}", self.image);
        let left = self.docker(&["ps", "--all", "--quiet", "--filter", &filter]).unwrap_or_default();
        // The image has another name, whose containers of other runs must stay.
        for id in left.split_whitespace() {
            let named = self.docker(&["inspect", "--format", "{{.Config.Image}}", id]).unwrap_or_default();
            if named.trim() == self.image.trim() {
                let _ = self.docker(&["rm", "--force", "--volumes", id]);
            }
        }
        let _ = self.docker(&["rmi", &self.image]);
        let _ = std::fs::remove_dir_all(self.peer_files());
    }
}
