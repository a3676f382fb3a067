//! Who does not read, or does not take, holds up what they wait for and nothing else.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use workden_core::{Backend, ByteRange, Expect, Sandbox, sandbox::ProcessEvent};
use workden_wire::limits::CLIENT_WINDOW;

use crate::{
    pipes::{a_while, at, path, played, until},
    scripted::spawning,
};

/// What may be on its way from a process to a client that does not read: the window of the stream,
/// and a piece each in the hands of the sender and the receiver.
const ON_THE_WAY: u64 = 2 * CLIENT_WINDOW as u64;

#[tokio::test]
async fn output_that_is_not_read_is_not_asked_for() {
    let (remote, seen) = played().await;
    let mut process = remote.spawn(&spawning("endless 65536")).await.unwrap();
    a_while().await;
    let unread = seen.printed.load(Ordering::SeqCst);
    assert!(unread <= ON_THE_WAY, "{unread} bytes were printed, and none read");

    let mut read = 0;
    while read < 64 << 20 {
        let Some(Ok(ProcessEvent::Printed(_, bytes))) = process.events.next().await else { panic!("it is endless") };
        read += bytes.len() as u64;
        let ahead = seen.printed.load(Ordering::SeqCst) - read;
        assert!(ahead <= ON_THE_WAY, "{ahead} bytes ahead of the reader");
    }
}

#[tokio::test]
async fn a_hundred_that_are_not_read_hold_up_no_other() {
    let (remote, seen) = played().await;
    let mut processes = Vec::new();
    for _ in 0..100 {
        processes.push(remote.spawn(&spawning("endless 65536")).await.unwrap());
    }
    until("all are held up", || seen.printed.load(Ordering::SeqCst) >= 100 * u64::from(CLIENT_WINDOW)).await;
    let content = Bytes::from(vec![b'x'; 3 << 20]);
    remote.write(&at("/f"), content.clone().into(), Expect::Absent).await.unwrap();
    assert_eq!(remote.read(&at("/f"), ByteRange::whole()).await.unwrap().bytes, content);
    let before = seen.printed.load(Ordering::SeqCst);
    a_while().await;
    assert_eq!(seen.printed.load(Ordering::SeqCst), before, "still no reader");
}

#[tokio::test]
async fn input_that_is_not_taken_holds_up_its_writer_only() {
    let (remote, seen) = played().await;
    seen.deaf.store(true, Ordering::SeqCst);
    let mut writers = Vec::new();
    for _ in 0..20 {
        let process = remote.spawn(&spawning("cat")).await.unwrap();
        let input = Bytes::from(vec![0; 8 << 20]);
        writers.push(tokio::spawn(async move {
            let _events = process.events;
            process.control.write(input).await
        }));
    }
    a_while().await;
    assert!(writers.iter().all(|writer| !writer.is_finished()));
    let content = Bytes::from(vec![b'x'; 3 << 20]);
    remote.write(&at("/f"), content.clone().into(), Expect::Absent).await.unwrap();
    assert_eq!(remote.read(&at("/f"), ByteRange::whole()).await.unwrap().bytes, content);
    for writer in writers {
        writer.abort();
    }
}

#[tokio::test]
async fn a_download_that_is_not_read_reads_no_files() {
    let (remote, seen) = played().await;
    remote.write(&at("/f"), Bytes::from(vec![b'x'; 64 << 20]).into(), Expect::Absent).await.unwrap();
    let mut download = remote.download_tree(&path("/")).await.unwrap();
    a_while().await;
    let unread = seen.read.load(Ordering::SeqCst);
    assert!(unread <= ON_THE_WAY, "{unread} bytes were read without a reader");
    let mut size = 0;
    while let Some(piece) = download.next().await {
        size += piece.unwrap().len();
    }
    assert!(size > 64 << 20);
    assert_eq!(seen.read.load(Ordering::SeqCst), 64 << 20);
}

#[tokio::test]
async fn an_upload_that_is_not_taken_is_not_asked_for() {
    let (remote, seen) = played().await;
    seen.deaf.store(true, Ordering::SeqCst);
    let mut header = tar::Header::new_gnu();
    header.set_path("big").unwrap();
    header.set_size(1 << 30);
    header.set_cksum();
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let zeros = Bytes::from(vec![0; 64 << 10]);
    let archive = stream::iter([Ok(Bytes::copy_from_slice(header.as_bytes()))]).chain(stream::repeat_with(move || {
        counted.fetch_add(zeros.len() as u64, Ordering::SeqCst);
        Ok(zeros.clone())
    }));
    let upload = tokio::spawn({
        let remote = remote.clone();
        async move { remote.upload_tree(&path("/"), Box::pin(archive)).await }
    });
    a_while().await;
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent > 0 && sent <= ON_THE_WAY, "{sent} bytes were sent, and none taken");
    upload.abort();
    remote.usage().await.unwrap();
}
