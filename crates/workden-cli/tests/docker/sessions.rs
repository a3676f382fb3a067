//! Sessions in containers: many at once, dead ones, spare ones, and those of a process that was killed.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use tokio::task::JoinSet;
use workden_core::{
    Sandbox,
    sandbox::{ExecuteRequest, JobRequest},
};
use workden_sandboxes::{
    docker::DockerSessions,
    sessions::{Adopt, SessionId, SessionManager, SessionManagerBuilder},
};

use crate::places::{BUSYBOX, container, docker, unique};

const SESSIONS: usize = 50;
const CALLERS: usize = 4;
/// The most that the loop may stand still.
const STALL: Duration = Duration::from_millis(50);

pub(crate) fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

fn sessions(owner: &str) -> SessionManagerBuilder {
    SessionManager::builder(DockerSessions::new(container(BUSYBOX), owner).unwrap())
}

/// The containers of an owner.
fn containers(owner: &str) -> Vec<String> {
    let found = docker(&["ps", "-a", "--format", "{{.Names}}", "--filter", &format!("label=workden.owner={owner}")]);
    found.lines().map(str::to_owned).collect()
}

async fn run(sandbox: &dyn Sandbox, line: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text().to_owned()
}

/// The longest time between two turns of a task that wants one every millisecond, in microseconds.
fn worst_stall() -> Arc<AtomicU64> {
    let worst = Arc::new(AtomicU64::new(0));
    let seen = Arc::downgrade(&worst);
    tokio::spawn(async move {
        while let Some(seen) = seen.upgrade() {
            let began = Instant::now();
            tokio::time::sleep(Duration::from_millis(1)).await;
            let stalled = began.elapsed().saturating_sub(Duration::from_millis(1));
            seen.fetch_max(u64::try_from(stalled.as_micros()).unwrap(), SeqCst);
        }
    });
    worst
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_sessions_for_two_hundred_callers_are_each_made_once_and_all_end() {
    // With other tests beside, the machine itself lets a thread wait now and then: that is not the loop's doing.
    let machine = Arc::new(AtomicU64::new(0));
    let waiting = Arc::downgrade(&machine);
    std::thread::spawn(move || {
        while let Some(worst) = waiting.upgrade() {
            let began = Instant::now();
            std::thread::sleep(Duration::from_millis(1));
            worst.fetch_max(u64::try_from(began.elapsed().as_micros()).unwrap(), SeqCst);
        }
    });
    let mut stalls = Vec::new();
    while stalls.len() < 3 && !stalls.iter().any(|within| *within) {
        machine.store(0, SeqCst);
        let stalled = fifty_sessions().await;
        let machines = Duration::from_micros(machine.load(SeqCst));
        eprintln!("worst stall {stalled:?}, of a thread of the machine {machines:?}");
        stalls.push(stalled < STALL + machines);
    }
    assert!(stalls.iter().any(|within| *within), "the loop stood still");
}

/// Opens and ends them; the worst stall meanwhile.
async fn fifty_sessions() -> Duration {
    let owner = unique("many");
    let files = tempfile::tempdir().unwrap();
    let manager = sessions(&owner).workspace_root(files.path()).max_sessions(SESSIONS).start().await.unwrap();
    let manager = Arc::new(manager);
    let worst = worst_stall();
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for caller in 0..SESSIONS * CALLERS {
        let manager = Arc::clone(&manager);
        callers.spawn(async move {
            let session = manager.get_or_create(&id(&format!("s{}", caller % SESSIONS)), None).await.unwrap();
            run(&*session, "echo x >> said").await;
            session.name().to_owned()
        });
    }
    let mut made = BTreeSet::new();
    while let Some(done) = callers.join_next().await {
        made.insert(done.unwrap());
    }
    let opened = began.elapsed();
    assert_eq!(made.len(), SESSIONS, "a container for each session, and no second one");
    assert_eq!(containers(&owner).len(), SESSIONS);
    let began = Instant::now();
    let report = manager.shutdown(Duration::from_secs(60)).await;
    let stalled = Duration::from_micros(worst.load(SeqCst));
    eprintln!("opened in {opened:?}, ended in {:?}, worst stall {stalled:?}", began.elapsed());
    assert_eq!((report.sessions, report.failed.len()), (SESSIONS, 0), "{report:?}");
    assert_eq!(containers(&owner), Vec::<String>::new());
    for session in 0..SESSIONS {
        let said = std::fs::read_to_string(files.path().join(format!("s{session}/workspace/said"))).unwrap();
        assert_eq!(said.lines().count(), CALLERS, "the files are kept");
    }
    stalled
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_container_was_killed_is_made_anew_with_its_files() {
    let owner = unique("killed");
    let files = tempfile::tempdir().unwrap();
    let manager = sessions(&owner).workspace_root(files.path()).start().await.unwrap();
    let first = manager.get_or_create(&id("a"), None).await.unwrap();
    run(&*first, "echo kept > file").await;
    docker(&["kill", first.name()]);
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let second = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(run(&*second, "cat file").await, "kept\n");
    assert_eq!(containers(&owner).len(), 1);
    assert_eq!(manager.shutdown(Duration::from_secs(30)).await.failed.len(), 0);
    assert!(containers(&owner).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spare_container_is_given_away_and_another_takes_its_place() {
    let owner = unique("spare");
    let manager = sessions(&owner).spares(1).start().await.unwrap();
    let has_spare = || containers(&owner).iter().any(|name| name.contains("-spare-"));
    let wait = async |what: &str| {
        for _ in 0..200 {
            if has_spare() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{what}");
    };
    wait("there is no spare container").await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    eprintln!("a spare container was given away in {:?}", began.elapsed());
    assert_eq!(session.name(), format!("workden.{owner}.a"));
    assert_eq!(run(&*session, "echo ok").await, "ok\n");
    wait("there is no other spare container").await;
    assert_eq!(manager.shutdown(Duration::from_secs(30)).await.failed.len(), 0);
    assert!(containers(&owner).is_empty());
}

/// Whose sessions the process that is killed makes, and where their files are.
const OWNER: &str = "WORKDEN_TEST_OWNER";
const FILES: &str = "WORKDEN_TEST_FILES";

/// Not a test: what the process does that is killed.
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
        .args(["--exact", "sessions::the_process_that_is_killed", "--nocapture"])
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
    // One that has ended, and stays because nobody removes it.
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
    assert_eq!(manager.shutdown(Duration::from_secs(30)).await.failed.len(), 0);
    assert!(containers(&owner).is_empty());
}
