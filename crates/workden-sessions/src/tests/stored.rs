//! Sessions whose records are in a directory, used by two managers as by two processes.

use std::{sync::atomic::Ordering::SeqCst, time::Duration};

use workden_core::{ErrorKind, VirtualPath};

use crate::{
    DirectoryStore, SessionManager, SessionOptions,
    tests::{id, scripted::Scripted},
};

const NOW: Option<Duration> = Some(Duration::ZERO);

async fn manager(factory: &Scripted, store: &DirectoryStore) -> SessionManager {
    SessionManager::builder(factory.clone()).store(store.clone()).start().await.unwrap()
}

#[tokio::test]
async fn a_session_must_fit_every_record_that_is_asked_for() {
    let place = tempfile::tempdir().unwrap();
    let (factory, store) = (Scripted::default(), DirectoryStore::at(place.path().join("state")));
    let manager = manager(&factory, &store).await;
    manager.get_or_create(&id("a"), None).await.unwrap();
    let mut record = store.record(&id("a")).unwrap().unwrap();
    let wanting = |record| SessionOptions { record: Some(record), ..SessionOptions::default() };
    manager.get_or_create_with(&id("a"), wanting(record.clone())).await.unwrap();
    record.masked.push(VirtualPath::parse("/workspace/.env").unwrap());
    let refused = manager.get_or_create_with(&id("a"), wanting(record)).await.map(drop).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(refused.sentence(), "commands of the session `a` can read `/workspace/.env`, which is denied");
}

#[tokio::test]
async fn an_idle_session_that_another_process_uses_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let (factory, store) = (Scripted::default(), DirectoryStore::at(place.path().join("state")));
    let (ours, theirs) = (manager(&factory, &store).await, manager(&factory, &store).await);
    let session = ours.get_or_create(&id("a"), None).await.unwrap();
    let used = theirs.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(ours.cleanup_idle(NOW).await, 0);
    assert_eq!((factory.running(), session.name()), (vec!["a#1".to_owned()], "a#1"));
    // It is still ours to use.
    assert_eq!(ours.get_or_create(&id("a"), None).await.unwrap().name(), "a#1");
    assert_eq!(ours.shutdown(Duration::from_secs(5)).await.failed.len(), 0);
    assert_eq!(factory.running(), ["a#1"]);
    drop((session, ours, used));
    assert_eq!(theirs.cleanup_idle(NOW).await, 1);
    assert_eq!((factory.running(), store.record(&id("a")).unwrap()), (Vec::new(), None));
}

#[tokio::test]
async fn a_dead_sandbox_that_another_process_has_replaced_is_not_replaced_again() {
    let place = tempfile::tempdir().unwrap();
    let (factory, store) = (Scripted::default(), DirectoryStore::at(place.path().join("state")));
    let (ours, theirs) = (manager(&factory, &store).await, manager(&factory, &store).await);
    let (mine, other) =
        (ours.get_or_create(&id("a"), None).await.unwrap(), theirs.get_or_create(&id("a"), None).await.unwrap());
    factory.sandbox("a#1").dead.store(true, SeqCst);
    for session in [&mine, &other] {
        session.directory().await.unwrap_err();
    }
    for manager in [&theirs, &ours] {
        assert_eq!(manager.get_or_create(&id("a"), None).await.unwrap().name(), "a#2");
    }
    assert_eq!((factory.running(), factory.removed()), (vec!["a#2".to_owned()], vec!["a#1".to_owned()]));
}
