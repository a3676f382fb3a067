//! A daemon that stops and starts again under a running session. It belongs to the test and has no network.

use workden_core::{
    ErrorKind, Sandbox,
    sandbox::{ExecuteRequest, JobRequest, JobState},
};
use workden_sandboxes::docker::{Daemon, DockerLauncher, DockerSandbox, WhenItEnds};
use workden_sessions::SessionManager;

use crate::{
    docker::{
        own_daemon::OwnDaemon,
        places::{BUSYBOX, keepers},
        sessions::id,
    },
    processes::{PATIENCE, soon},
};

async fn said(sandbox: &dyn Sandbox, line: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_made_anew_after_its_daemon_ended_with_all_its_containers() {
    let mut own = OwnDaemon::start(&[]);
    own.load(BUSYBOX);
    let files = tempfile::tempdir().unwrap();
    let daemon = Daemon::at(&own.address()).unwrap();
    let template = DockerSandbox::builder().daemon(daemon).image(BUSYBOX).keepers(keepers());
    let factory = DockerLauncher::new(template, "restarts").unwrap();
    let manager = SessionManager::builder(factory).workspace_root(files.path()).start().await.unwrap();
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(said(&*session, "echo kept > file; cat file").await, "kept\n");

    own.down();
    let refused = tokio::time::timeout(PATIENCE, async {
        let error = session.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::Gone), "{error}");
        let error = manager.get_or_create(&id("b"), None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    });
    refused.await.unwrap();

    own.up();
    // The manager notices the lost container at the next check, which is not at every call.
    let works = async || {
        let again = manager.get_or_create(&id("a"), None).await.unwrap();
        again.execute(&ExecuteRequest::shell("true")).await.is_ok()
    };
    soon("it is not replaced", works).await;
    let again = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(said(&*again, "cat file").await, "kept\n");
    assert_eq!(manager.shutdown(PATIENCE).await.failed.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_lives_on_without_its_daemon_is_reached_again() {
    let mut own = OwnDaemon::start(&["--live-restore"]);
    own.load(BUSYBOX);
    let daemon = Daemon::at(&own.address()).unwrap();
    // A starting daemon removes containers with `--rm`, even running ones.
    let sandbox = DockerSandbox::builder()
        .daemon(daemon)
        .image(BUSYBOX)
        .keepers(keepers())
        .when_it_ends(WhenItEnds::Keep)
        .build()
        .unwrap();
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
