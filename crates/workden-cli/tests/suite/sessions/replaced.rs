//! Sandboxes that die, and ids and directories that point elsewhere.

use std::{os::unix::fs::symlink, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use workden_core::{ErrorKind, sandbox::JobRequest};
use workden_sessions::{Adopt, SessionId, SessionManager};

use crate::{
    processes::{PATIENCE, soon},
    sessions::places::{Place, builder, id, run, runs},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_sandbox_is_replaced_and_its_files_are_intact() {
    let place = Place::new();
    let manager: SessionManager = place.builder().start().await.unwrap();
    let first = manager.get_or_create(&id("a"), None).await.unwrap();
    run(&*first, "echo precious > kept").await;
    let keeper = place.keepers().remove(0);
    kill_process(Pid::from_raw(keeper.parse().unwrap()).unwrap(), Signal::TERM).unwrap();
    soon("it still runs", async || !runs(&keeper)).await;
    // The manager notices the lost sandbox at the next check, which is not at every call.
    let is_another = async || manager.get_or_create(&id("a"), None).await.unwrap().name() != first.name();
    soon("it is not replaced", is_another).await;
    let second = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(run(&*second, "cat kept").await, "precious\n");
    assert_eq!(first.directory().await.unwrap_err().kind(), ErrorKind::Gone);
    assert_eq!(place.left().len(), 1);
    assert!(manager.release(&id("a")).await.unwrap());
    assert!(place.left().is_empty());
    assert!(place.root().join("a/workspace/kept").exists());
    assert!(manager.purge(&id("a")).await.unwrap());
    assert!(!place.root().join("a").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_jobs_keep_a_session_and_its_end_ends_them() {
    let place = Place::new();
    let manager = place.builder().idle(Duration::from_millis(300)).start().await.unwrap();
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    let job = session.start_job(&JobRequest::shell("sleep 1000")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(manager.cleanup_idle(None).await, 0);
    session.kill_job(&job.id).await.unwrap();
    soon("it does not end", async || manager.cleanup_idle(None).await == 1).await;
    assert!(place.left().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spare_sandbox_becomes_a_session_and_is_found_as_one() {
    let place = Place::new();
    let manager = builder(&place.state()).spares(1).start().await.unwrap();
    soon("no spare sandbox", async || place.keepers().len() == 1).await;
    // Time for the spare to get ready. If it does not, a new sandbox is started, which passes the checks below too.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    run(&*session, "echo mine > file").await;
    let name = session.name().to_owned();
    drop((session, manager));
    let next = builder(&place.state()).start().await.unwrap();
    let report = next.adopt_or_remove(Adopt::Running).await.unwrap();
    assert_eq!(report.adopted, [id("a")], "{report:?}");
    let session = next.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!((session.name(), run(&*session, "cat file").await.as_str()), (name.as_str(), "mine\n"));
    next.shutdown(PATIENCE).await;
    soon("something is left", async || place.left().is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_ids_nor_links_lead_out_of_the_root() {
    let (place, outside) = (Place::new(), Place::new());
    for not_an_id in ["..", "../x", "a/../../b", "/etc", "a\0", "-rf", ".hidden", ""] {
        assert!(not_an_id.parse::<SessionId>().is_err(), "{not_an_id:?}");
    }
    let target = outside.root();
    std::fs::create_dir_all(&target).unwrap();
    std::fs::create_dir_all(place.root().join("inner")).unwrap();
    symlink(&target, place.root().join("linked")).unwrap();
    symlink(&target, place.root().join("inner/workspace")).unwrap();
    let manager = place.builder().start().await.unwrap();
    for attacked in ["linked", "inner"] {
        let error = manager.get_or_create(&id(attacked), None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Escapes, "{error}");
    }
    assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
    assert!(place.left().is_empty() && manager.sessions().is_empty());
}
