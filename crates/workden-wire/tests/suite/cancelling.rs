//! Who stops waiting stops what they waited for.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use tokio::time::timeout;
use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_wire::{RemoteSandbox, ServeOptions, serve};

use crate::{
    pipes::{in_memory, in_memory_files, played, served, sockets, until},
    scripted::{Scripted, Seen, spawning},
};

const SOON: Duration = Duration::from_millis(50);

async fn running(seen: &Seen, count: usize) {
    until(&format!("{count} running"), || seen.running.load(Ordering::SeqCst) == count).await;
}

#[tokio::test]
async fn dropping_a_command_drops_it_there() {
    let (remote, seen) = played().await;
    let hanging = ExecuteRequest::shell("hang");
    let call = tokio::spawn({
        let remote = remote.clone();
        async move { remote.execute(&hanging).await }
    });
    running(&seen, 1).await;
    call.abort();
    running(&seen, 0).await;
    assert!(!remote.is_gone());
    remote.usage().await.unwrap();
}

#[tokio::test]
async fn a_thousand_dropped_commands_leave_the_connection_in_order() {
    let (remote, seen) = played().await;
    for _ in 0..10 {
        let hanging = ExecuteRequest::shell("hang");
        let calls: Vec<_> = (0..100).map(|_| remote.execute(&hanging)).collect();
        assert!(timeout(SOON, futures_util::future::join_all(calls)).await.is_err());
    }
    running(&seen, 0).await;
    remote.usage().await.unwrap();
}

#[tokio::test]
async fn dropping_the_output_of_a_process_drops_it_there() {
    let (remote, seen) = played().await;
    for line in ["silent", "endless 10", "endless 100000", "cat"] {
        let process = remote.spawn(&spawning(line)).await.unwrap();
        running(&seen, 1).await;
        drop(process.events);
        running(&seen, 0).await;
    }
    remote.usage().await.unwrap();
}

#[tokio::test]
async fn dropping_input_that_is_not_taken_is_noticed() {
    let (remote, seen) = played().await;
    seen.deaf.store(true, Ordering::SeqCst);
    let process = remote.spawn(&spawning("cat")).await.unwrap();
    assert!(timeout(SOON, process.control.write(Bytes::from(vec![0; 10 << 20]))).await.is_err());
    seen.deaf.store(false, Ordering::SeqCst);
    process.control.write(Bytes::from_static(b"x")).await.unwrap();
    assert_eq!(seen.taken.load(Ordering::SeqCst), 1, "what was given up is not taken later");
}

/// When the client goes, so does all that it waits for.
#[tokio::test]
async fn a_connection_that_ends_drops_everything() {
    let sandbox = Scripted::over(in_memory_files());
    let seen = Arc::clone(&sandbox.seen);
    let (near, far) = sockets();
    let server = served(Arc::new(sandbox), far, ServeOptions::default());
    let client = tokio::spawn(async move {
        let remote = RemoteSandbox::connect(near, None).await.unwrap();
        let mut processes = Vec::new();
        for line in ["silent", "endless 100000"] {
            processes.push(remote.spawn(&spawning(line)).await.unwrap());
        }
        remote.execute(&ExecuteRequest::shell("hang")).await
    });
    running(&seen, 3).await;
    client.abort();
    let served = timeout(Duration::from_secs(10), server).await.expect("the server returns when the stream ends");
    served.unwrap().unwrap();
    running(&seen, 0).await;
}

#[tokio::test]
async fn a_server_that_is_dropped_drops_everything() {
    let sandbox = Scripted::over(in_memory_files());
    let seen = Arc::clone(&sandbox.seen);
    let (near, far) = in_memory();
    let server = tokio::spawn(serve(Arc::new(sandbox), far, ServeOptions::default()));
    let remote = RemoteSandbox::connect(near, None).await.unwrap();
    let process = remote.spawn(&spawning("silent")).await.unwrap();
    running(&seen, 1).await;
    server.abort();
    running(&seen, 0).await;
    drop(process);
}
