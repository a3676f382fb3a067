//! Spare sandboxes: created in advance, assigned, replaced.

use std::sync::atomic::Ordering::SeqCst;

use super::*;
use workden_sandboxes::runtimes::RuntimeConfig;

async fn with_spares(factory: &Scripted, spares: usize) -> SessionManager {
    let manager = SessionManager::builder(factory.clone()).spares(spares).start().await.unwrap();
    moment().await;
    manager
}

#[tokio::test(start_paused = true)]
async fn spare_sandboxes_are_given_away_and_made_again() {
    let factory = Scripted::default();
    let manager = with_spares(&factory, 2).await;
    assert_eq!(factory.running(), ["spare#1", "spare#2"]);
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    assert_eq!(session.name(), "a<spare#2");
    moment().await;
    assert_eq!((factory.orders().len(), manager.sessions().len()), (3, 1));
    let other = RuntimeConfig { name: "other".to_owned(), ..RuntimeConfig::default() };
    let session = manager.get_or_create(&id("b"), Some(other)).await.unwrap();
    assert_eq!(session.name(), "b#4", "a spare sandbox has the default runtime");
    let report = manager.shutdown(SECOND).await;
    assert_eq!((report.sessions, report.spares, report.failed.len()), (2, 2, 0), "{report:?}");
    assert!(factory.running().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_dead_spare_or_one_that_cannot_be_given_away_is_disposed_of() {
    let factory = Scripted::default();
    let manager = with_spares(&factory, 1).await;
    factory.sandbox("spare#1").dead.store(true, SeqCst);
    let session = manager.get_or_create(&id("a"), None).await.unwrap();
    assert!(["a<spare#2", "a#2", "a#3"].contains(&session.name()), "{session:?}");
    assert!(factory.removed().contains(&"spare#1".to_owned()));
    moment().await;
    factory.assigning_fails();
    let session = manager.get_or_create(&id("b"), None).await.unwrap();
    assert!(session.name().starts_with("b#"), "{session:?}");
    manager.shutdown(Duration::MAX).await;
    assert!(factory.running().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_factory_that_fails_is_asked_less_and_less_often() {
    let factory = Scripted::default().next(vec![Does::Fail; 1000]);
    let _manager = with_spares(&factory, 1).await;
    tokio::time::sleep(Duration::from_secs(63)).await;
    let orders = factory.orders().len();
    assert!((6..=7).contains(&orders), "{orders} in the first minute: after 0, 1, 3, 7, 15, 31 and 63 seconds");
}

#[tokio::test(start_paused = true)]
async fn a_spare_that_is_made_during_a_shutdown_is_disposed_of() {
    let factory = Scripted::default().next([Does::Wait]);
    let manager = Arc::new(with_spares(&factory, 1).await);
    let shutting = Arc::clone(&manager);
    let shutting = tokio::spawn(async move { shutting.shutdown(10 * SECOND).await });
    moment().await;
    factory.let_go(1);
    assert!(shutting.await.unwrap().failed.is_empty());
    assert!(factory.running().is_empty() && factory.removed() == ["spare#1"]);
    assert_eq!(factory.orders().len(), 1);

    let factory = Scripted::default().next([Does::Wait]);
    let manager = with_spares(&factory, 1).await;
    assert_eq!(manager.shutdown(SECOND).await.failed.len(), 1, "the report names what is still in progress");
    factory.let_go(1);
    moment().await;
    assert!(factory.running().is_empty() && factory.removed() == ["spare#1"]);
}

#[tokio::test(start_paused = true)]
async fn no_spares_are_made_for_a_manager_that_is_dropped() {
    let factory = Scripted::default().next([Does::Fail]);
    drop(with_spares(&factory, 1).await);
    tokio::time::sleep(60 * SECOND).await;
    assert_eq!(factory.orders().len(), 1);
}
