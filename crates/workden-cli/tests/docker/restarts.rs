//! A daemon that is stopped and started again under a running session. It is the test's own, without a network.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use workden_core::{
    ErrorKind, Sandbox,
    sandbox::{ExecuteRequest, JobRequest, JobState},
};
use workden_sandboxes::{
    docker::{Daemon, DockerSandbox, DockerSessions, WhenItEnds},
    sessions::SessionManager,
};

use crate::{
    places::{BUSYBOX, docker, keepers},
    sessions::id,
};

/// A daemon of the test's own, in directories of its own.
struct OwnDaemon {
    home: TempDir,
    options: &'static [&'static str],
    process: Option<Child>,
}

impl OwnDaemon {
    fn start(options: &'static [&'static str]) -> Self {
        let home = tempfile::Builder::new().prefix("wd-").tempdir().unwrap();
        let mut daemon = Self { home, options, process: None };
        daemon.up();
        let image = daemon.path("image");
        docker(&["save", "--output", image.to_str().unwrap(), BUSYBOX]);
        assert!(daemon.docker(&["load", "--input", image.to_str().unwrap()]).status().unwrap().success());
        daemon
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn address(&self) -> String {
        format!("unix://{}", self.path("socket").display())
    }

    fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.args(["--host", &self.address()]).args(arguments).stdout(Stdio::null());
        command
    }

    fn up(&mut self) {
        let at = |name: &str| self.path(name).display().to_string();
        let log = fs::File::options().create(true).append(true).open(at("log")).unwrap();
        // In a network of its own: without a bridge it would remove the machine's.
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
        let began = Instant::now();
        while !self.docker(&["version"]).stderr(Stdio::null()).status().unwrap().success() {
            let log = || fs::read_to_string(self.path("log")).unwrap_or_default();
            assert!(began.elapsed() < Duration::from_secs(60), "the daemon does not answer: {}", log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn down(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let _ = Command::new("kill").arg(process.id().to_string()).status();
        let _ = process.wait();
    }
}

impl Drop for OwnDaemon {
    fn drop(&mut self) {
        // What lives on without its daemon would otherwise do so for good.
        let all = Command::new("docker").args(["--host", &self.address(), "ps", "-aq"]).output();
        for id in String::from_utf8_lossy(&all.map(|all| all.stdout).unwrap_or_default()).lines() {
            let _ = self.docker(&["rm", "-f", id]).status();
        }
        self.down();
    }
}

async fn said(sandbox: &dyn Sandbox, line: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_made_anew_after_its_daemon_ended_with_all_its_containers() {
    let mut own = OwnDaemon::start(&[]);
    let files = tempfile::tempdir().unwrap();
    let daemon = Daemon::at(&own.address()).unwrap();
    let template = DockerSandbox::builder(daemon, BUSYBOX).keepers(keepers());
    let factory = DockerSessions::new(template, "restarts").unwrap();
    let manager = SessionManager::builder(factory).workspace_root(files.path()).start().await.unwrap();
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(said(&*session, "echo kept > file; cat file").await, "kept\n");

    own.down();
    let began = Instant::now();
    let error = session.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::Gone), "{error}");
    let error = manager.get_or_create(&id("b"), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());

    own.up();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let again = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(said(&*again, "cat file").await, "kept\n");
    assert_eq!(manager.shutdown(Duration::from_secs(30)).await.failed.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_lives_on_without_its_daemon_is_reached_again() {
    let mut own = OwnDaemon::start(&["--live-restore"]);
    let daemon = Daemon::at(&own.address()).unwrap();
    // One that is to be removed when it ends is removed by a daemon that starts, also while it runs.
    let sandbox = DockerSandbox::builder(daemon, BUSYBOX).keepers(keepers()).when_it_ends(WhenItEnds::Keep).build();
    sandbox.start_job(&JobRequest::shell("sleep 300")).await.unwrap();
    let container = sandbox.container_id().unwrap();
    own.down();
    let error = sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    own.up();
    assert_eq!(said(&sandbox, "echo back").await, "back\n");
    assert_eq!(sandbox.container_id().unwrap(), container);
    assert_eq!(sandbox.jobs().await.unwrap()[0].state, JobState::Running);
    sandbox.stop().await.unwrap();
}
