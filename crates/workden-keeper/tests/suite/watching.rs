//! Watches of a keeper: what ends them, and what they may cost.

use std::time::Duration;

use futures_util::StreamExt;
use workden_core::{
    Backend, ErrorKind, Symlink, VirtualPath,
    sandbox::{Sandbox, WatchDepth, WatchRequest},
};

use crate::common::TestKeeper;

#[tokio::test]
async fn a_stopped_sandbox_ends_its_watches() {
    let test = TestKeeper::new();
    let top = test.keeper.resolve(&VirtualPath::root(), Symlink::Follow).await.unwrap();
    let mut events = test.keeper.watch(&top, &WatchRequest::default()).await.unwrap();
    test.keeper.stop().await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap_err().kind(), ErrorKind::Gone);
    assert!(events.next().await.is_none());
    assert_eq!(test.keeper.watch(&top, &WatchRequest::default()).await.err().unwrap().kind(), ErrorKind::Gone);
}

#[tokio::test]
async fn a_watch_is_no_use_of_the_sandbox() {
    let test = TestKeeper::new();
    let top = test.keeper.resolve(&VirtualPath::root(), Symlink::Follow).await.unwrap();
    let _events = test.keeper.watch(&top, &WatchRequest::default()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(test.keeper.usage().await.unwrap().idle >= Duration::from_millis(200));
}

#[tokio::test]
async fn too_many_directories_are_refused_with_what_to_do() {
    let test = TestKeeper::new();
    for parent in 0..100 {
        for child in 0..100 {
            std::fs::create_dir_all(test.directory.path().join(format!("{parent}/{child}"))).unwrap();
        }
    }
    let top = test.keeper.resolve(&VirtualPath::root(), Symlink::Follow).await.unwrap();
    let refused = test.keeper.watch(&top, &WatchRequest::default().depth(WatchDepth::Tree)).await.err().unwrap();
    assert_eq!(refused.kind(), ErrorKind::TooLarge, "{refused}");
    assert!(refused.to_string().contains("watch a smaller directory"), "{refused}");
    assert!(test.keeper.watch(&top, &WatchRequest::default()).await.is_ok());
}
