//! A process that creates sessions and is killed, and the process after it.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use workden_core::sandbox::JobRequest;
use workden_sessions::{Adopt, SessionOptions};

use crate::{
    processes::{PATIENCE, soon},
    sessions::places::{Place, id, run, runs},
};

/// The directories of the process that is killed, and the length of its leases.
const PLACE: &str = "WORKDEN_SESSIONS_PLACE";
const LEASE: &str = "WORKDEN_SESSIONS_LEASE";

/// Not a test: the body of the process that is killed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_process_that_is_killed() {
    let (Ok(place), Ok(lease)) = (std::env::var(PLACE), std::env::var(LEASE)) else { return };
    let place = std::path::PathBuf::from(place);
    let manager = crate::sessions::places::builder(&place.join("state"))
        .workspace_root(place.join("root"))
        .start()
        .await
        .unwrap();
    let idle = Some(Duration::from_millis(lease.parse().unwrap()));
    for whose in ["a", "b", "c"] {
        let options = SessionOptions { idle, ..SessionOptions::default() };
        let session = manager.get_or_create_with(&id(whose), options).await.unwrap();
        run(&*session, &format!("echo {whose} > /tmp/mine; echo {whose} > kept")).await;
        session.start_job(&JobRequest::shell("sleep 1000")).await.unwrap();
    }
    eprintln!("\nready");
    std::future::pending::<()>().await;
}

/// Returns the keepers of the sessions of a killed process.
fn make_sessions_and_be_killed(place: &Place, lease: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sessions::crashes::the_process_that_is_killed", "--nocapture"])
        .env(PLACE, place.state().parent().unwrap())
        .env(LEASE, lease.as_millis().to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stderr.take().unwrap());
    assert!(said.lines().map_while(Result::ok).any(|line| line == "ready"), "it made no sessions");
    // They live as long as their owner.
    let keepers = place.keepers();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(keepers.len(), 3);
    keepers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sessions_of_a_killed_process_are_adopted_and_dead_ones_removed() {
    let place = Place::new();
    let keepers = make_sessions_and_be_killed(&place, Duration::from_secs(3600));
    assert!(keepers.iter().all(|pid| runs(pid)), "{keepers:?}");
    // One of them dies without cleaning up, and one directory is half created.
    let dead = &keepers[0];
    kill_process(Pid::from_raw(dead.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    soon("it still runs", async || !runs(dead)).await;
    std::fs::create_dir(place.state().join("0123456789ab")).unwrap();

    let manager = place.builder().start().await.unwrap();
    let report = manager.adopt_or_remove(Adopt::Running).await.unwrap();
    assert_eq!((report.adopted.len(), report.removed.len(), report.failed.len()), (2, 2, 0), "{report:?}");
    for whose in &report.adopted {
        let session = manager.get_or_create(whose, None).await.unwrap();
        assert_eq!(run(&*session, "cat /tmp/mine kept").await, format!("{whose}\n{whose}\n"));
        assert_eq!(session.usage().await.unwrap().jobs, 1, "what was started before still runs");
    }
    let lost = ["a", "b", "c"].map(id).into_iter().find(|whose| !report.adopted.contains(whose)).unwrap();
    let session = manager.get_or_create(&lost, None).await.unwrap();
    assert_eq!(run(&*session, "cat kept").await, format!("{lost}\n"), "its files are kept");
    let report = manager.shutdown(PATIENCE).await;
    assert_eq!((report.sessions, report.failed.len()), (3, 0), "{report:?}");
    assert!(place.left().is_empty(), "{:?}", place.left());
    assert!(!keepers.iter().any(|pid| runs(pid)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_end_by_themselves_and_leave_nothing_behind() {
    let place = Place::new();
    let keepers = make_sessions_and_be_killed(&place, Duration::from_secs(2));
    soon("a lease did not end", async || !keepers.iter().any(|pid| runs(pid))).await;
    soon("something is left", async || place.left().is_empty()).await;
}
