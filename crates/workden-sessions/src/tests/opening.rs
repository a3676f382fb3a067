//! Opening sessions: once for each id, even if callers race, go away or fail.

use std::sync::atomic::Ordering::SeqCst;

use workden_core::ErrorKind;

use super::*;
use workden_sandboxes::runtimes::RuntimeConfig;

use crate::SessionOptions;

fn runtime(name: &str) -> RuntimeConfig {
    RuntimeConfig { name: name.to_owned(), ..RuntimeConfig::default() }
}

#[tokio::test(start_paused = true)]
async fn many_who_ask_at_once_get_one_sandbox() {
    let factory = Scripted::default().next([Does::Wait]);
    let manager = manager(&factory).await;
    let mut asking = Vec::new();
    for _ in 0..20 {
        asking.push(asks(&manager, "a").await);
    }
    assert_eq!(states(&manager), [("a".to_owned(), SessionState::Starting)]);
    factory.let_go(1);
    for one in asking {
        assert_eq!(one.await.unwrap().unwrap().name(), "a#1");
    }
    assert_eq!(factory.orders().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn no_caller_waits_for_a_session_of_another_id() {
    let factory = Scripted::default().next([Does::Wait]);
    let manager = manager(&factory).await;
    let waiting = asks(&manager, "slow").await;
    assert_eq!(asks(&manager, "quick").await.await.unwrap().unwrap().id(), &id("quick"));
    assert!(!waiting.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_session_starts_also_when_the_first_caller_goes_away() {
    let factory = Scripted::default().next([Does::Wait]);
    let manager = manager(&factory).await;
    let first = asks(&manager, "a").await;
    let second = asks(&manager, "a").await;
    first.abort();
    factory.let_go(1);
    assert_eq!(second.await.unwrap().unwrap().name(), "a#1");

    let alone = Scripted::default().next([Does::Wait]);
    let manager = super::manager(&alone).await;
    asks(&manager, "a").await.abort();
    alone.let_go(1);
    moment().await;
    assert_eq!(states(&manager), [("a".to_owned(), SessionState::Ready)]);
    assert_eq!(asks(&manager, "a").await.await.unwrap().unwrap().name(), "a#1");
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_is_told_to_all_and_tried_again_by_the_next() {
    for (does, kind) in [(Does::Fail, ErrorKind::Unsupported), (Does::Panic, ErrorKind::Io)] {
        let factory = Scripted::default().next([does]);
        let manager = manager(&factory).await;
        let id = id("a");
        let (one, other) = tokio::join!(manager.get_or_create(&id, None), manager.get_or_create(&id, None));
        assert_eq!((one.unwrap_err().kind(), other.unwrap_err().kind()), (kind, kind));
        assert_eq!(factory.orders().len(), 1, "{does:?}");
        assert!(manager.sessions().is_empty());
        manager.get_or_create(&id, None).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_factory_that_hangs_is_given_up_on_in_time() {
    let factory = Scripted::default().next([Does::Hang]);
    let manager = SessionManager::builder(factory.clone()).start_deadline(7 * SECOND).start().await.unwrap();
    let began = tokio::time::Instant::now();
    let error = manager.get_or_create(&id("a"), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert!((7 * SECOND..9 * SECOND).contains(&began.elapsed()), "{:?}", began.elapsed());
    assert_eq!(manager.get_or_create(&id("a"), None).await.unwrap().name(), "a#1");
}

#[tokio::test(start_paused = true)]
async fn what_a_start_that_broke_off_left_behind_is_removed() {
    let factory = Scripted::default().next([Does::Panic]).with_left_over("of-a", Some("a"), true);
    let factory = factory.with_left_over("of-b", Some("b"), true);
    let manager = manager(&factory).await;
    manager.get_or_create(&id("a"), None).await.unwrap_err();
    assert_eq!(factory.removed(), ["of-a"]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_session_is_removed_and_made_anew() {
    let factory = Scripted::default();
    let manager = manager(&factory).await;
    let before = manager.get_or_create(&id("a"), None).await.unwrap();
    factory.sandbox("a#1").dead.store(true, SeqCst);
    // The manager notices it from the first call that fails, or when it asks.
    before.directory().await.unwrap_err();
    let after = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!((after.name(), factory.removed()), ("a#2", vec!["a#1".to_owned()]));
    let error = before.directory().await.unwrap_err();
    assert_eq!(error.sentence(), "the session `a` has ended: its sandbox stopped responding");
    assert_eq!(factory.running(), ["a#2"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_does_not_answer_is_dead_in_time() {
    let factory = Scripted::default();
    let manager = manager(&factory).await;
    manager.get_or_create(&id("a"), None).await.unwrap();
    factory.sandbox("a#1").silent.store(true, SeqCst);
    tokio::time::sleep(2 * SECOND).await;
    let began = tokio::time::Instant::now();
    assert_eq!(manager.get_or_create(&id("a"), None).await.unwrap().name(), "a#2");
    assert!(began.elapsed() < 8 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_just_answered_is_not_asked_again() {
    let factory = Scripted::default();
    let manager = manager(&factory).await;
    for _ in 0..5 {
        manager.get_or_create(&id("a"), None).await.unwrap();
    }
    assert_eq!(factory.sandbox("a#1").asked.load(SeqCst), 0);
    tokio::time::sleep(2 * SECOND).await;
    for _ in 0..5 {
        manager.get_or_create(&id("a"), None).await.unwrap();
    }
    assert_eq!(factory.sandbox("a#1").asked.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_stopped_by_itself_is_made_anew() {
    let factory = Scripted::default();
    let manager = manager(&factory).await;
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    session.stop().await.unwrap();
    assert_eq!(manager.get_or_create(&id("a"), None).await.unwrap().name(), "a#2");
}

#[tokio::test(start_paused = true)]
async fn another_runtime_is_a_conflict_that_names_both() {
    let factory = Scripted::default();
    let manager = SessionManager::builder(factory.clone()).default_runtime(runtime("plain")).start().await.unwrap();
    manager.get_or_create(&id("a"), Some(runtime("python"))).await.unwrap();
    manager.get_or_create(&id("a"), None).await.unwrap();
    manager.get_or_create(&id("a"), Some(runtime("python"))).await.unwrap();
    let error = manager.get_or_create(&id("a"), Some(runtime("node"))).await.unwrap_err();
    let sentence = "the session `a` has the runtime `python`, and `node` is a different runtime";
    assert_eq!((error.kind(), error.sentence()), (ErrorKind::Conflict, sentence));
    let changed = RuntimeConfig { packages: vec!["requests".to_owned()], ..runtime("python") };
    let error = manager.get_or_create(&id("a"), Some(changed)).await.unwrap_err();
    assert!(error.sentence().ends_with("a different runtime of that name"), "{error}");
    manager.get_or_create(&id("b"), None).await.unwrap();
    assert_eq!(factory.orders()[1].runtime, Some(runtime("plain")));
    assert_eq!(manager.sessions()[0].runtime.as_deref(), Some("python"));
}

#[tokio::test(start_paused = true)]
async fn there_are_never_more_than_there_may_be_and_those_that_start_count() {
    let factory = Scripted::default().next([Does::Wait, Does::Well]);
    let manager = Arc::new(SessionManager::builder(factory.clone()).max_sessions(2).start().await.unwrap());
    let starting = asks(&manager, "a").await;
    manager.get_or_create(&id("b"), None).await.unwrap();
    let error = manager.get_or_create(&id("c"), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.to_string().contains("the limit of 2 sessions") && error.hint_text().is_some(), "{error}");
    manager.get_or_create(&id("b"), None).await.unwrap();
    factory.let_go(1);
    starting.await.unwrap().unwrap();
    assert!(manager.release(&id("b")).await.unwrap());
    manager.get_or_create(&id("c"), None).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_order_says_whose_it_is_how_long_it_lives_and_where_its_files_are() {
    let place = tempfile::tempdir().unwrap();
    let factory = Scripted::default();
    let builder = SessionManager::builder(factory.clone()).workspace_root(place.path()).idle(9 * SECOND);
    let manager = builder.spares(3).start().await.unwrap();
    manager.get_or_create(&id("a"), None).await.unwrap();
    let options = SessionOptions { idle: Some(SECOND), ..SessionOptions::default() };
    manager.get_or_create_with(&id("b"), options).await.unwrap();
    let orders = factory.orders();
    assert_eq!(orders.len(), 2, "a spare sandbox does not fit a session with files");
    assert_eq!(orders[0].workspace, Some(place.path().join("a/workspace")));
    assert_eq!((orders[0].session.clone(), orders[0].idle), (Some(id("a")), Some(9 * SECOND)));
    assert_eq!(orders[1].idle, Some(SECOND));
}

#[tokio::test(start_paused = true)]
async fn events_tell_what_happened_and_a_slow_listener_holds_up_no_other() {
    let factory = Scripted::default().next([Does::Fail]);
    let manager = SessionManager::builder(factory.clone()).events(2).start().await.unwrap();
    let (mut slow, mut events) = (manager.subscribe(), manager.subscribe());
    manager.get_or_create(&id("a"), None).await.unwrap_err();
    assert!(
        matches!(events.recv().await.unwrap().kind, SessionEventKind::Failed(error) if error.kind() == ErrorKind::Unsupported)
    );
    manager.get_or_create(&id("a"), None).await.unwrap();
    manager.get_or_create(&id("a"), None).await.unwrap();
    assert!(matches!(events.recv().await.unwrap().kind, SessionEventKind::Created(_)));
    assert!(matches!(events.recv().await.unwrap().kind, SessionEventKind::Reused));
    manager.release(&id("a")).await.unwrap();
    let released = events.recv().await.unwrap();
    assert!(matches!(released.kind, SessionEventKind::Released) && released.session == Some(id("a")));
    assert!(matches!(slow.recv().await, Err(tokio::sync::broadcast::error::RecvError::Lagged(2))));
}
