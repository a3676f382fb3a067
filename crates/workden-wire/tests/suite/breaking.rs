//! A connection that breaks is a sandbox that is gone, for every call.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::{io::AsyncWriteExt, time::timeout};
use workden_core::{
    Backend, ByteRange, Content, Error, ErrorKind, Expect, Sandbox,
    sandbox::{ExecuteRequest, ProcessEvent},
};
use workden_wire::{RemoteSandbox, ServeOptions};

use crate::{
    pipes::{a_while, at, connected, in_memory_files, path, served, sockets},
    scripted::{Scripted, spawning},
};

fn is_gone(error: &Error) {
    assert_eq!((error.kind(), error.sentence()), (ErrorKind::Gone, "the sandbox is gone"));
    assert!(error.hint_text().is_some());
}

#[tokio::test]
async fn calls_on_their_way_and_later_ones_are_gone() {
    let (near, far) = sockets();
    let server = served(Arc::new(Scripted::over(in_memory_files())), far, ServeOptions::default());
    let remote = RemoteSandbox::connect(near, None).await.unwrap();
    let mut process = remote.spawn(&spawning("silent")).await.unwrap();
    let mut printing = remote.spawn(&spawning("endless 1000")).await.unwrap();
    let other = remote.clone();
    let hanging = tokio::spawn(async move { other.execute(&ExecuteRequest::shell("hang")).await });
    let other = remote.clone();
    let writing = tokio::spawn(async move {
        let never_ends = futures_util::stream::pending();
        other.write(&at("/f"), Content::Stream(Box::pin(never_ends)), Expect::Absent).await
    });
    a_while().await;
    server.abort();

    is_gone(&hanging.await.unwrap().unwrap_err());
    is_gone(&writing.await.unwrap().unwrap_err());
    is_gone(&process.events.next().await.unwrap().unwrap_err());
    assert!(process.events.next().await.is_none());
    let last = loop {
        match printing.events.next().await {
            Some(Ok(ProcessEvent::Printed(..))) => {}
            last => break last,
        }
    };
    is_gone(&last.unwrap().unwrap_err());

    is_gone(&remote.stat(&at("/")).await.unwrap_err());
    is_gone(&remote.read(&at("/f"), ByteRange::whole()).await.unwrap_err());
    is_gone(&remote.write(&at("/f"), Bytes::new().into(), Expect::Anything).await.unwrap_err());
    is_gone(&remote.spawn(&spawning("silent")).await.unwrap_err());
    is_gone(&process.control.write(Bytes::from_static(b"x")).await.unwrap_err());
    is_gone(&remote.download_tree(&path("/")).await.unwrap_err());
    remote.stop().await.expect("what is gone is stopped");
    assert!(remote.is_gone());
    assert_eq!(format!("{remote:?}"), "RemoteSandbox(gone)");
}

#[tokio::test]
async fn a_stream_that_ends_at_once_is_gone() {
    let (near, far) = sockets();
    drop(far);
    is_gone(&RemoteSandbox::connect(near, None).await.unwrap_err());
}

#[tokio::test]
async fn what_is_no_server_is_gone() {
    let (near, mut far) = sockets();
    far.write_all(b"SSH-2.0-OpenSSH_9.6\r\nwho are you?\r\n\r\n and what do you want?").await.unwrap();
    let answer = timeout(Duration::from_secs(10), RemoteSandbox::connect(near, None)).await.expect("an answer");
    is_gone(&answer.unwrap_err());
}

#[tokio::test]
async fn a_call_that_panics_there_is_an_error_here_and_nothing_else() {
    let remote = connected(Scripted::over(in_memory_files())).await;
    let error = remote.execute(&ExecuteRequest::shell("panic")).await.unwrap_err();
    assert_eq!((error.kind(), error.sentence()), (ErrorKind::Io, "the sandbox aborted the call"));
    remote.usage().await.unwrap();
}
