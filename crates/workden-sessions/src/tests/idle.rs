//! Idle sessions: which sessions count as idle, and that a session in use is not ended.

use std::sync::atomic::Ordering::SeqCst;

use workden_core::{
    ErrorKind,
    sandbox::{Command, ExecuteRequest, SpawnRequest},
};

use super::*;
use crate::{IdleClock, SessionOptions};

const MINUTE: Duration = Duration::from_secs(60);

async fn with_one(factory: &Scripted) -> (SessionManager, Session) {
    let manager = SessionManager::builder(factory.clone()).idle(MINUTE).start().await.unwrap();
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    (manager, session)
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_used_is_ended_and_one_that_is_used_is_not() {
    let factory = Scripted::default();
    let (manager, session) = with_one(&factory).await;
    tokio::time::sleep(MINUTE - SECOND).await;
    assert_eq!(manager.cleanup_idle(None).await, 0);
    session.directory().await.unwrap();
    tokio::time::sleep(MINUTE - SECOND).await;
    assert_eq!(manager.cleanup_idle(None).await, 0, "the call counts as use");
    tokio::time::sleep(SECOND).await;
    assert_eq!(manager.cleanup_idle(None).await, 1);
    let error = session.directory().await.unwrap_err();
    assert_eq!(error.sentence(), "the session `a` has ended: it was idle for 60 s");
    assert!(factory.running().is_empty() && manager.sessions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_with_a_clock_of_its_own_says_how_long_it_was_idle() {
    let factory = Scripted::default();
    let builder = SessionManager::builder(factory.clone()).idle(MINUTE).idle_clock(IdleClock::Sandbox);
    let manager = builder.trust(Duration::ZERO).start().await.unwrap();
    manager.get_or_create(&id("a"), None).await.unwrap();
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(manager.cleanup_idle(None).await, 0, "another program uses it");
    factory.sandbox("a#1").idle.store(30, SeqCst);
    assert_eq!(manager.cleanup_idle_by(|_| Some(31 * SECOND)).await, 0);
    assert_eq!(manager.cleanup_idle_by(|whose| (*whose == id("a")).then_some(30 * SECOND)).await, 1);
    // Without trust, every request asks the sandbox.
    manager.get_or_create(&id("b"), None).await.unwrap();
    factory.sandbox("b#2").dead.store(true, SeqCst);
    assert_eq!(manager.get_or_create(&id("b"), None).await.unwrap().name(), "b#3");
}

#[tokio::test(start_paused = true)]
async fn a_call_under_way_keeps_a_session_for_as_long_as_it_takes() {
    let factory = Scripted::default();
    let (manager, session) = with_one(&factory).await;
    let running = session.clone();
    let call = tokio::spawn(async move { running.execute(&ExecuteRequest::shell("long")).await });
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!((manager.cleanup_idle(None).await, manager.sessions()[0].in_use), (0, 1));
    factory.sandbox("a#1").let_go();
    assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::Unsupported);
    // It has been in use until now.
    assert_eq!((manager.cleanup_idle(None).await, manager.sessions()[0].in_use), (0, 0));
    tokio::time::sleep(MINUTE).await;
    assert_eq!(manager.cleanup_idle(None).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_use_no_more() {
    let factory = Scripted::default();
    let (manager, session) = with_one(&factory).await;
    let call = tokio::spawn(async move { session.execute(&ExecuteRequest::shell("long")).await });
    moment().await;
    assert_eq!(manager.sessions()[0].in_use, 1);
    call.abort();
    let _ = call.await;
    assert_eq!(manager.sessions()[0].in_use, 0);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_read_keeps_a_session_and_one_that_is_not_read_does_not() {
    let factory = Scripted::default();
    let (manager, session) = with_one(&factory).await;
    let process = session.spawn(&SpawnRequest::piped(Command::Shell("server".into()))).await.unwrap();
    drop(session);
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!((manager.cleanup_idle(None).await, manager.sessions()[0].in_use), (0, 1));
    drop(process);
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(manager.cleanup_idle(None).await, 1);
}

#[tokio::test(start_paused = true)]
async fn background_jobs_keep_a_session() {
    let factory = Scripted::default();
    let (manager, _session) = with_one(&factory).await;
    factory.sandbox("a#1").jobs.store(1, SeqCst);
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(manager.cleanup_idle(None).await, 0);
    factory.sandbox("a#1").jobs.store(0, SeqCst);
    assert_eq!(manager.cleanup_idle(None).await, 0, "the idle time starts when the job has ended");
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(manager.cleanup_idle(None).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_between_the_look_of_the_reaper_and_its_end_keeps_a_session() {
    let factory = Scripted::default();
    let (manager, session) = with_one(&factory).await;
    let manager = Arc::new(manager);
    tokio::time::sleep(2 * MINUTE).await;
    // The sandbox takes longer to answer than the manager waits.
    factory.sandbox("a#1").silent.store(true, SeqCst);
    let reaping = Arc::clone(&manager);
    let reaping = tokio::spawn(async move { reaping.cleanup_idle(None).await });
    moment().await;
    session.directory().await.unwrap();
    assert_eq!(reaping.await.unwrap(), 0);
    assert_eq!(states(&manager), [("a".to_owned(), SessionState::Ready)]);
}

#[tokio::test(start_paused = true)]
async fn a_session_can_have_a_limit_of_its_own_and_be_given_another() {
    let factory = Scripted::default();
    let manager = SessionManager::builder(factory.clone()).idle(MINUTE).start().await.unwrap();
    let with = |idle| SessionOptions { idle: Some(idle), ..SessionOptions::default() };
    manager.get_or_create_with(&id("short"), with(SECOND)).await.unwrap();
    manager.get_or_create_with(&id("long"), with(60 * MINUTE)).await.unwrap();
    manager.get_or_create(&id("changed"), None).await.unwrap();
    manager.get_or_create_with(&id("changed"), with(60 * MINUTE)).await.unwrap();
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(manager.cleanup_idle(None).await, 1);
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(manager.cleanup_idle(None).await, 0);
    assert_eq!(manager.cleanup_idle(Some(MINUTE)).await, 2, "the argument overrides the limit of the session");
}

#[tokio::test(start_paused = true)]
async fn the_reaper_goes_on_after_a_sandbox_that_panics_fails_or_hangs() {
    let factory = Scripted::default();
    let builder = SessionManager::builder(factory.clone()).idle(MINUTE).stop_deadline(SECOND);
    let manager = builder.start().await.unwrap();
    manager.start_reaper(SECOND);
    for (nth, does) in [Does::Panic, Does::Fail, Does::Hang, Does::Well].into_iter().enumerate() {
        manager.get_or_create(&id("a"), None).await.unwrap();
        *factory.sandbox(&format!("a#{}", nth + 1)).stops.lock().unwrap() = does;
        tokio::time::sleep(MINUTE + 10 * SECOND).await;
        assert!(manager.sessions().is_empty(), "{does:?}");
    }
    manager.stop_reaper();
    manager.get_or_create(&id("a"), None).await.unwrap();
    tokio::time::sleep(5 * MINUTE).await;
    assert_eq!(manager.sessions().len(), 1, "the reaper was stopped");
    assert_eq!(factory.removed().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn the_list_says_what_each_uses_and_waits_for_none_that_hangs() {
    let factory = Scripted::default().next([Does::Well, Does::Well, Does::Wait]);
    let manager = manager(&factory).await;
    manager.get_or_create(&id("a"), None).await.unwrap();
    manager.get_or_create(&id("b"), None).await.unwrap();
    let _starting = asks(&manager, "c").await;
    factory.sandbox("a#1").jobs.store(3, SeqCst);
    factory.sandbox("b#2").silent.store(true, SeqCst);
    tokio::time::sleep(MINUTE).await;
    let listed = manager.sessions_with_usage(SECOND).await;
    let shown: Vec<_> =
        listed.iter().map(|info| (info.id.as_str(), info.state, info.usage.as_ref().map(|usage| usage.jobs))).collect();
    let (ready, starting) = (SessionState::Ready, SessionState::Starting);
    assert_eq!(shown, [("a", ready, Some(3)), ("b", ready, None), ("c", starting, None)]);
    assert!(listed[0].age >= MINUTE && listed[0].idle >= MINUTE, "{listed:?}");
}
