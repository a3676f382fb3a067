//! Watched directories, over a pipe.

use std::{sync::atomic::Ordering, time::Duration};

use futures_util::StreamExt;
use workden_core::{
    Error, ErrorKind, Sandbox,
    sandbox::{FileChange, FileEvent, WatchDepth, WatchRequest},
};

use crate::{
    pipes::{at, connected, in_memory_files, path, played},
    scripted::Scripted,
};

#[tokio::test]
async fn events_arrive_as_they_are_and_an_error_ends_them() {
    let why = Error::new(ErrorKind::NotFound, "the watched directory is gone");
    let remote = connected(Scripted::over(in_memory_files()).failing(why)).await;
    let mut events = remote.watch(&at("/d"), &WatchRequest::default().depth(WatchDepth::Tree)).await.unwrap();
    let first = FileEvent::Changed { path: path("/d/new\nline"), change: FileChange::Renamed, is_directory: true };
    assert_eq!(events.next().await.unwrap().unwrap(), first);
    assert_eq!(events.next().await.unwrap().unwrap(), FileEvent::Missed);
    assert_eq!(events.next().await.unwrap().unwrap_err().kind(), ErrorKind::NotFound);
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_client_that_stops_watching_ends_the_watch() {
    let (remote, seen) = played().await;
    let mut events = remote.watch(&at("/d"), &WatchRequest::default()).await.unwrap();
    assert!(events.next().await.unwrap().is_ok());
    assert_eq!(seen.running.load(Ordering::SeqCst), 1);
    drop(events);
    while seen.running.load(Ordering::SeqCst) > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
