//! Ending sessions: while they start, while others wait for them, and all at a time.

use workden_core::ErrorKind;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_session_that_is_released_is_gone_and_can_be_made_anew() {
    let factory = Scripted::default();
    let manager = manager(&factory).await;
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    assert!(manager.release(&id("a")).await.unwrap() && !manager.release(&id("a")).await.unwrap());
    assert!(factory.running().is_empty() && factory.removed() == ["a#1"]);
    let error = session.directory().await.unwrap_err();
    assert_eq!((error.kind(), error.sentence()), (ErrorKind::Gone, "the session `a` has ended: it was released"));
    assert_eq!(manager.get_or_create(&id("a"), None).await.unwrap().name(), "a#2");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_released_while_it_starts_ends_when_it_has() {
    let factory = Scripted::default().next([Does::Wait]);
    let manager = manager(&factory).await;
    let asking = asks(&manager, "a").await;
    let (releasing, of) = (Arc::clone(&manager), id("a"));
    let releasing = tokio::spawn(async move { releasing.release(&of).await });
    moment().await;
    // A caller that asks now waits until the old session has ended, and gets a new one.
    let next = asks(&manager, "a").await;
    assert!(!releasing.is_finished() && !next.is_finished() && factory.orders().len() == 1);
    factory.let_go(1);
    assert_eq!(asking.await.unwrap().unwrap_err().kind(), ErrorKind::Gone);
    assert!(releasing.await.unwrap().unwrap());
    assert_eq!(next.await.unwrap().unwrap().name(), "a#2");
    assert_eq!(factory.running(), ["a#2"]);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_session_that_ends_waits_until_it_is_gone() {
    let factory = Scripted::default();
    let manager = manager(&factory).await;
    manager.get_or_create(&id("a"), None).await.unwrap();
    let old = factory.sandbox("a#1");
    *old.stops.lock().unwrap() = Does::Wait;
    let (releasing, of) = (Arc::clone(&manager), id("a"));
    let releasing = tokio::spawn(async move { releasing.release(&of).await });
    let next = asks(&manager, "a").await;
    assert_eq!(states(&manager), [("a".to_owned(), SessionState::Stopping)]);
    assert_eq!(factory.orders().len(), 1);
    // It ends even if the task that released it goes away.
    releasing.abort();
    old.let_go();
    assert_eq!(next.await.unwrap().unwrap().name(), "a#2");
    assert_eq!((factory.running(), factory.removed()), (vec!["a#2".to_owned()], vec!["a#1".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_fails_panics_or_hangs_is_told_and_the_sandbox_removed_all_the_same() {
    for (does, kind) in
        [(Does::Fail, ErrorKind::Unsupported), (Does::Panic, ErrorKind::Io), (Does::Hang, ErrorKind::TimedOut)]
    {
        let factory = Scripted::default();
        let manager = SessionManager::builder(factory.clone()).stop_deadline(SECOND).start().await.unwrap();
        manager.get_or_create(&id("a"), None).await.unwrap();
        *factory.sandbox("a#1").stops.lock().unwrap() = does;
        assert_eq!(manager.release(&id("a")).await.unwrap_err().kind(), kind);
        assert_eq!(factory.removed(), ["a#1"]);
        assert_eq!(manager.get_or_create(&id("a"), None).await.unwrap().name(), "a#2");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_sandbox_cannot_be_removed_stays_and_can_be_released_again() {
    let factory = Scripted::default();
    let manager = manager(&factory).await;
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    *factory.sandbox("a#1").stops.lock().unwrap() = Does::Fail;
    factory.removing_fails(true);
    assert_eq!(manager.release(&id("a")).await.unwrap_err().kind(), ErrorKind::Unreachable);
    assert_eq!(manager.cleanup_idle(Some(Duration::ZERO)).await, 0, "it is not counted as ended");
    assert_eq!(states(&manager), [("a".to_owned(), SessionState::Ready)]);
    session.directory().await.unwrap();
    assert_eq!(manager.get_or_create(&id("a"), None).await.unwrap().name(), "a#1");
    factory.removing_fails(false);
    *factory.sandbox("a#1").stops.lock().unwrap() = Does::Well;
    assert!(manager.release(&id("a")).await.unwrap());
    assert!(manager.sessions().is_empty() && factory.removed() == ["a#1"]);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_all_at_a_time_and_tells_what_went_wrong() {
    let factory = Scripted::default();
    let builder = SessionManager::builder(factory.clone()).stop_deadline(3 * SECOND);
    let manager = builder.start().await.unwrap();
    for whose in ["a", "b", "c", "d", "e"] {
        manager.get_or_create(&id(whose), None).await.unwrap();
    }
    for (name, does) in [("b#2", Does::Hang), ("c#3", Does::Panic), ("d#4", Does::Hang)] {
        *factory.sandbox(name).stops.lock().unwrap() = does;
    }
    let began = tokio::time::Instant::now();
    let report = manager.shutdown(10 * SECOND).await;
    // The deadline of one hanging session, not of two.
    assert!(began.elapsed() < 5 * SECOND, "{:?}", began.elapsed());
    assert_eq!((report.sessions, report.failed.len()), (2, 3), "{report:?}");
    let error = manager.get_or_create(&id("a"), None).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(manager.sessions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_no_longer_than_told_and_what_starts_ends_later() {
    let factory = Scripted::default().next([Does::Wait]);
    let manager = manager(&factory).await;
    let asking = asks(&manager, "a").await;
    let began = tokio::time::Instant::now();
    let report = manager.shutdown(2 * SECOND).await;
    assert!(began.elapsed() < 3 * SECOND);
    assert!(
        matches!(&report.failed[..], [(Some(whose), error)]
        if *whose == id("a") && error.kind() == ErrorKind::TimedOut),
        "{report:?}"
    );
    factory.let_go(1);
    assert_eq!(asking.await.unwrap().unwrap_err().kind(), ErrorKind::Gone);
    moment().await;
    assert!(factory.running().is_empty() && factory.removed() == ["a#1"]);
    assert!(manager.sessions().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_start_that_ends_within_a_shutdown_is_counted() {
    let factory = Scripted::default().next([Does::Wait]);
    let manager = manager(&factory).await;
    let asking = asks(&manager, "a").await;
    let shutting = Arc::clone(&manager);
    let shutting = tokio::spawn(async move { shutting.shutdown(10 * SECOND).await });
    moment().await;
    factory.let_go(1);
    let report = shutting.await.unwrap();
    assert_eq!((report.sessions, report.failed.len()), (1, 0), "{report:?}");
    asking.await.unwrap().unwrap_err();
    assert!(factory.running().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_is_dropped_does_not_wait_and_leaves_no_start_behind() {
    let factory = Scripted::default().next([Does::Wait]);
    let manager = manager(&factory).await;
    let asking = asks(&manager, "a").await;
    asking.abort();
    let _ = asking.await;
    assert_eq!(Arc::strong_count(&manager), 1);
    drop(manager);
    factory.let_go(1);
    moment().await;
    assert!(factory.running().is_empty() && factory.removed() == ["a#1"]);
}

#[tokio::test(start_paused = true)]
async fn files_are_purged_only_when_they_are_not_used() {
    let place = tempfile::tempdir().unwrap();
    let manager = SessionManager::builder(Scripted::default()).workspace_root(place.path()).start().await.unwrap();
    manager.get_or_create(&id("a"), None).await.unwrap();
    let kept = place.path().join("a/workspace/kept");
    std::fs::write(&kept, "").unwrap();
    assert_eq!(manager.purge(&id("a")).await.unwrap_err().kind(), ErrorKind::Busy);
    manager.release(&id("a")).await.unwrap();
    assert!(kept.exists(), "a release keeps the files");
    assert!(manager.purge(&id("a")).await.unwrap() && !manager.purge(&id("a")).await.unwrap());
    assert!(!kept.exists() && manager.sessions().is_empty());
    assert_eq!(
        super::manager(&Scripted::default()).await.purge(&id("a")).await.unwrap_err().kind(),
        ErrorKind::Unsupported
    );
}
