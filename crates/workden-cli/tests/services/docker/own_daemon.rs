//! A Docker daemon of one test, without a network, that can be stopped and started again.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::{docker::places::docker, processes::PATIENCE};

/// A daemon of one test, in its own directories. It ends with the test.
pub(crate) struct OwnDaemon {
    home: TempDir,
    options: &'static [&'static str],
    process: Option<Child>,
}

impl OwnDaemon {
    pub(crate) fn start(options: &'static [&'static str]) -> Self {
        let home = tempfile::Builder::new().prefix("wd-").tempdir().unwrap();
        let mut daemon = Self { home, options, process: None };
        daemon.up();
        daemon
    }

    /// Loads an image of the prepared daemon.
    pub(crate) fn load(&self, image: &str) {
        let file = self.path("image.tar");
        docker(&["save", "--output", file.to_str().unwrap(), image]);
        assert!(self.docker(&["load", "--input", file.to_str().unwrap()]).output().unwrap().status.success());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.path("socket").display())
    }

    pub(crate) fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.args(["--host", &self.address()]).args(arguments);
        command
    }

    pub(crate) fn up(&mut self) {
        let at = |name: &str| self.path(name).display().to_string();
        let log = fs::File::options().create(true).append(true).open(at("log")).unwrap();
        // In its own network namespace: without a bridge it would remove the machine's.
        let process = Command::new("unshare")
            .args(["--net", "dockerd", "--host", &self.address(), "--data-root", &at("data")])
            .args(["--exec-root", &at("exec"), "--pidfile", &at("pid")])
            .args(["--bridge=none", "--iptables=false", "--ip6tables=false"])
            .args(self.options)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .process_group(0)
            .spawn()
            .unwrap();
        self.process = Some(process);
        let started = Instant::now();
        while !self.docker(&["version"]).output().unwrap().status.success() {
            let log = || fs::read_to_string(self.path("log")).unwrap_or_default();
            assert!(started.elapsed() < PATIENCE, "the daemon does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn down(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let _ = Command::new("kill").arg(process.id().to_string()).status();
        let _ = process.wait();
    }
}

impl Drop for OwnDaemon {
    fn drop(&mut self) {
        // A container that outlives its daemon would otherwise never end.
        let all = self.docker(&["ps", "-aq"]).output();
        for id in String::from_utf8_lossy(&all.map(|all| all.stdout).unwrap_or_default()).lines() {
            let _ = self.docker(&["rm", "-f", id]).output();
        }
        self.down();
    }
}
