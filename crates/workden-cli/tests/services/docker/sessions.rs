//! Sessions in containers: many at once, dead ones, spare ones, and those of a killed process.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use tokio::task::JoinSet;
use workden_core::{
    Sandbox,
    sandbox::{ExecuteRequest, JobRequest},
};
use workden_sandboxes::docker::DockerLauncher;
use workden_sessions::{Adopt, SessionId, SessionManager, SessionManagerBuilder};

use crate::{
    counts::times,
    docker::places::{BUSYBOX, container, docker, unique},
    processes::{PATIENCE, soon},
    stalls::Stalls,
};

const CALLERS: usize = 4;

pub(crate) fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

fn sessions(owner: &str) -> SessionManagerBuilder {
    SessionManager::builder(DockerLauncher::new(container(BUSYBOX), owner).unwrap())
}

/// Returns the containers of an owner.
fn containers(owner: &str) -> Vec<String> {
    let found = docker(&["ps", "-a", "--format", "{{.Names}}", "--filter", &format!("label=workden.owner={owner}")]);
    found.lines().map(str::to_owned).collect()
}

async fn run(sandbox: &dyn Sandbox, line: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_for_many_callers_are_each_made_once_and_all_end() {
    let (owner, count) = (unique("many"), times(8, 50));
    let files = tempfile::tempdir().unwrap();
    let manager = sessions(&owner).workspace_root(files.path()).max_sessions(count).start().await.unwrap();
    let manager = Arc::new(manager);
    let stalls = Stalls::watch();
    let mut callers = JoinSet::new();
    for caller in 0..count * CALLERS {
        let manager = Arc::clone(&manager);
        callers.spawn(async move {
            let session = manager.get_or_create(&id(&format!("s{}", caller % count)), None).await.unwrap();
            run(&*session, "echo x >> said").await;
            session.name().to_owned()
        });
    }
    let mut made = BTreeSet::new();
    while let Some(done) = callers.join_next().await {
        made.insert(done.unwrap());
    }
    assert_eq!(made.len(), count, "a container for each session, and no second one");
    assert_eq!(containers(&owner).len(), count);
    let report = manager.shutdown(PATIENCE).await;
    assert_eq!((report.sessions, report.failed.len()), (count, 0), "{report:?}");
    assert_eq!(containers(&owner), Vec::<String>::new());
    for session in 0..count {
        let said = std::fs::read_to_string(files.path().join(format!("s{session}/workspace/said"))).unwrap();
        assert_eq!(said.lines().count(), CALLERS, "the files are kept");
    }
    stalls.were_short();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_container_was_killed_is_made_anew_with_its_files() {
    let owner = unique("killed");
    let files = tempfile::tempdir().unwrap();
    let manager = sessions(&owner).workspace_root(files.path()).start().await.unwrap();
    let first = manager.get_or_create(&id("a"), None).await.unwrap();
    run(&*first, "echo kept > file").await;
    docker(&["kill", first.name()]);
    // The manager notices the lost container at the next check, which is not at every call.
    let works = async || {
        let session = manager.get_or_create(&id("a"), None).await.unwrap();
        session.execute(&ExecuteRequest::shell("true")).await.is_ok()
    };
    soon("it is not replaced", works).await;
    let second = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(run(&*second, "cat file").await, "kept\n");
    assert_eq!(containers(&owner).len(), 1);
    assert_eq!(manager.shutdown(PATIENCE).await.failed.len(), 0);
    assert!(containers(&owner).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spare_container_is_given_away_and_another_takes_its_place() {
    let owner = unique("spare");
    let manager = sessions(&owner).spares(1).start().await.unwrap();
    let has_spare = || containers(&owner).iter().any(|name| name.contains("-spare-"));
    soon("there is no spare container", async || has_spare()).await;
    // Time for the spare to get ready. If it does not, a new container is started, which passes the checks below too.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(session.name(), format!("workden.{owner}.a"));
    assert_eq!(run(&*session, "echo ok").await, "ok\n");
    soon("there is no other spare container", async || has_spare()).await;
    assert_eq!(manager.shutdown(PATIENCE).await.failed.len(), 0);
    assert!(containers(&owner).is_empty());
}

/// The owner of the killed process's sessions, and the directory of their files.
const OWNER: &str = "WORKDEN_TEST_OWNER";
const FILES: &str = "WORKDEN_TEST_FILES";

/// Not a test: the body of the process that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_that_is_killed() {
    let (Ok(owner), Ok(files)) = (std::env::var(OWNER), std::env::var(FILES)) else { return };
    let manager = sessions(&owner).workspace_root(Path::new(&files)).spares(0).start().await.unwrap();
    for whose in ["a", "b"] {
        let session = manager.get_or_create(&id(whose), None).await.unwrap();
        run(&*session, &format!("echo {whose} > /tmp/mine; echo {whose} > kept")).await;
        session.start_job(&JobRequest::shell("sleep 1000")).await.unwrap();
    }
    eprintln!("\nready");
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sessions_of_a_killed_process_are_adopted_and_dead_ones_removed() {
    let (owner, files) = (unique("crash"), tempfile::tempdir().unwrap());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "docker::sessions::the_process_that_is_killed", "--nocapture"])
        .envs([(OWNER, owner.as_str()), (FILES, files.path().to_str().unwrap())])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    assert!(said.lines().map_while(Result::ok).any(|line| line == "ready"), "it made no sessions");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(containers(&owner).len(), 2);
    // A container that has ended, and that the daemon does not remove.
    let dead = format!("workden.{owner}.dead");
    docker(&["run", "--name", &dead, "--label", &format!("workden.owner={owner}"), BUSYBOX, "true"]);

    let manager = sessions(&owner).workspace_root(files.path()).start().await.unwrap();
    let report = manager.adopt_or_remove(Adopt::Running).await.unwrap();
    assert_eq!((report.adopted.len(), report.removed.len(), report.failed.len()), (2, 1, 0), "{report:?}");
    for whose in ["a", "b"] {
        let session = manager.get_or_create(&id(whose), None).await.unwrap();
        assert_eq!(run(&*session, "cat /tmp/mine kept").await, format!("{whose}\n{whose}\n"));
        assert_eq!(session.usage().await.unwrap().jobs, 1, "what was started before still runs");
    }
    assert_eq!(manager.shutdown(PATIENCE).await.failed.len(), 0);
    assert!(containers(&owner).is_empty());
}
