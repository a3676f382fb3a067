//! Content of any size, whole and in pieces, to its end or not.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tempfile::TempDir;
use workden_core::{Backend, ByteRange, Content, Error, ErrorKind, Expect, Version};
use workden_files::{Durability, LocalBackend};
use workden_wire::{RemoteSandbox, limits::WHOLE_BYTES};

use crate::{
    pipes::{at, connected},
    scripted::Scripted,
};

async fn local(directory: &TempDir) -> RemoteSandbox {
    let files = LocalBackend::options().durability(Durability::None).open(directory.path()).unwrap();
    connected(Scripted::over(files)).await
}

/// Content that does not repeat itself soon.
fn content(size: usize) -> Bytes {
    let mut state = 0x9e37_79b9_u32;
    let noise = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    });
    noise.take(size).collect()
}

#[tokio::test]
async fn content_of_every_size_comes_back_as_it_went() {
    let directory = TempDir::new().unwrap();
    let remote = local(&directory).await;
    for size in [0, 1, 4_096, 65_535, 65_536, 65_537, 1 << 20, (8 << 20) + 1, WHOLE_BYTES as usize + 1] {
        let content = content(size);
        let written = remote.write(&at("/f"), content.clone().into(), Expect::Anything).await.unwrap();
        assert_eq!(written.version, Version::of(&content), "{size}");
        let slice = remote.read(&at("/f"), ByteRange::whole()).await.unwrap();
        assert_eq!((slice.size, slice.bytes == content), (size as u64, true), "{size}");

        let pieces: Vec<_> = content.chunks(50_001).map(|piece| Ok(content.slice_ref(piece))).collect();
        let streamed = Content::Stream(Box::pin(stream::iter(pieces)));
        let written = remote.write(&at("/g"), streamed, Expect::Anything).await.unwrap();
        assert_eq!(written.version, Version::of(&content), "{size} in pieces");
    }
}

#[tokio::test]
async fn a_read_brings_no_more_than_was_asked_for() {
    let directory = TempDir::new().unwrap();
    let remote = local(&directory).await;
    remote.write(&at("/f"), content(1_000).into(), Expect::Absent).await.unwrap();
    let error = remote.read(&at("/f"), ByteRange::Whole { most: 999 }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    for (offset, length, expected) in [(0, 10, 10), (990, 100, 10), (1_000, 1, 0), (u64::MAX, u64::MAX, 0), (0, 0, 0)] {
        let slice = remote.read(&at("/f"), ByteRange::Part { offset, length }).await.unwrap();
        assert_eq!((slice.bytes.len(), slice.size), (expected, 1_000));
    }
}

#[tokio::test]
async fn content_that_breaks_off_changes_nothing_and_says_why() {
    let directory = TempDir::new().unwrap();
    let remote = local(&directory).await;
    remote.write(&at("/f"), Bytes::from_static(b"old").into(), Expect::Absent).await.unwrap();
    for pieces_before in [0, 1, 100] {
        let failure = Error::new(ErrorKind::NoSpace, "the other disk is full").hint("look there");
        let pieces = vec![Ok(content(65_536)); pieces_before].into_iter().chain([Err(failure.clone())]);
        let broken = Content::Stream(Box::pin(stream::iter(pieces.collect::<Vec<_>>())));
        assert_eq!(remote.write(&at("/f"), broken, Expect::Anything).await.unwrap_err(), failure);
        assert_eq!(remote.read(&at("/f"), ByteRange::whole()).await.unwrap().bytes, "old");
    }
    let names: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|name| name.unwrap().file_name()).collect();
    assert_eq!(names, ["f"], "nothing is left of it");
}

/// A write that is refused is not sent to its end.
#[tokio::test]
async fn content_that_is_not_wanted_is_not_sent_to_its_end() {
    let directory = TempDir::new().unwrap();
    let remote = local(&directory).await;
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    let piece = content(65_536);
    let endless = stream::repeat_with(move || {
        counted.fetch_add(piece.len() as u64, Ordering::Relaxed);
        Ok(piece.clone())
    });
    // Who writes into what is no directory is refused by the spool, long before the end.
    std::fs::write(directory.path().join("file"), "x").unwrap();
    let endless = Content::Stream(Box::pin(endless.take(100_000)));
    let error = remote.write(&at("/file/below"), endless, Expect::Anything).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotDirectory);
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < 64 << 20, "{sent} bytes were sent for nothing");
    remote.stat(&at("/file")).await.unwrap();
}
