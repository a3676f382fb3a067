//! Sandboxes of an earlier manager: adopted or removed. Current ones are left alone.

use super::*;
use crate::Adopt;

fn left_over() -> Scripted {
    Scripted::default()
        .with_left_over("one", Some("a"), true)
        .with_left_over("dead", Some("b"), false)
        .with_left_over("idle-spare", None, true)
        .with_left_over("broken", Some("c"), true)
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_adopted_and_all_else_removed() {
    let factory = left_over();
    let manager = manager(&factory).await;
    let mut events = manager.subscribe();
    let report = manager.adopt_or_remove(Adopt::Running).await.unwrap();
    assert_eq!(report.adopted, [id("a")]);
    assert_eq!(report.removed, ["broken", "dead", "idle-spare"]);
    assert_eq!(manager.get_or_create(&id("a"), None).await.unwrap().name(), "one");
    assert_eq!(states(&manager), [("a".to_owned(), SessionState::Ready)]);
    let mut seen = Vec::new();
    while let Ok(event) = events.try_recv() {
        seen.push(event.kind);
    }
    let adopted = seen.iter().filter(|kind| matches!(kind, SessionEventKind::Adopted)).count();
    let removed = seen.iter().filter(|kind| matches!(kind, SessionEventKind::Removed(_))).count();
    assert_eq!((adopted, removed), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_manager_can_begin_with_nothing_from_before() {
    let factory = left_over();
    let manager = SessionManager::builder(factory.clone()).adopt(Adopt::Nothing).spares(1).start().await.unwrap();
    assert_eq!(factory.removed().len(), 4);
    assert!(manager.sessions().is_empty());
    moment().await;
    assert_eq!(factory.running(), ["spare#1"], "a new spare sandbox is not a left-over");
}

#[tokio::test(start_paused = true)]
async fn what_is_of_now_is_never_taken_for_something_from_before() {
    let factory = Scripted::default().next([Does::Well, Does::Well, Does::Wait]);
    let manager = Arc::new(SessionManager::builder(factory.clone()).spares(1).start().await.unwrap());
    moment().await;
    manager.get_or_create(&id("ready"), None).await.unwrap();
    moment().await;
    let _ = factory.clone().with_left_over("second", Some("ready"), true);
    let report = manager.adopt_or_remove(Adopt::Running).await.unwrap();
    assert_eq!((report.adopted.len(), report.removed), (0, vec!["second".to_owned()]));
    assert!(report.failed.is_empty());
    assert_eq!(manager.get_or_create(&id("ready"), None).await.unwrap().name(), "ready<spare#1");
}

#[tokio::test(start_paused = true)]
async fn what_starts_or_ends_is_left_to_its_caller() {
    let factory = Scripted::default().next([Does::Wait]).with_left_over("a-half-made", Some("a"), true);
    let manager = manager(&factory).await;
    let asking = asks(&manager, "a").await;
    let report = manager.adopt_or_remove(Adopt::Running).await.unwrap();
    assert!(report.adopted.is_empty() && report.removed.is_empty(), "{report:?}");
    factory.let_go(1);
    assert_eq!(asking.await.unwrap().unwrap().name(), "a#1");
}

/// A caller that gives up takes its manager with it. Another process may use the session by then.
#[tokio::test]
async fn a_kept_session_outlives_the_manager_that_opens_it() {
    let place = tempfile::tempdir().unwrap();
    let store = crate::DirectoryStore::at(place.path().join("state"));
    let factory = Scripted::default().next([Does::Wait]);
    let manager = SessionManager::builder(factory.clone()).store(store.clone()).start().await.unwrap();
    let given_up = tokio::time::timeout(Duration::from_millis(300), manager.get_or_create(&id("a"), None)).await;
    assert!(given_up.is_err());
    drop(manager);
    factory.let_go(1);
    // It would be removed at once.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((factory.running(), factory.removed()), (vec!["a#1".to_owned()], Vec::new()));
    assert!(store.record(&id("a")).unwrap().is_some());
}
