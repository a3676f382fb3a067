//! Connections to ports, over a pipe.

use std::{sync::atomic::Ordering, time::Duration};

use futures_util::{AsyncReadExt, AsyncWriteExt};
use workden_core::{Error, ErrorKind, Sandbox};

use crate::{
    pipes::{connected, in_memory_files, played},
    scripted::Scripted,
};

/// Waits until no call is left in the sandbox.
async fn ends(seen: &crate::scripted::Seen) {
    while seen.running.load(Ordering::SeqCst) > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn bytes_go_there_and_back_until_both_ways_are_closed() {
    let (remote, seen) = played().await;
    let mut stream = remote.connect_port(7).await.unwrap();
    for piece in ["one", "two"] {
        stream.write_all(piece.as_bytes()).await.unwrap();
        let mut back = vec![0; piece.len()];
        stream.read_exact(&mut back).await.unwrap();
        assert_eq!(back, piece.as_bytes());
    }
    stream.write_all(b"last").await.unwrap();
    stream.close().await.unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "last");
    ends(&seen).await;
}

#[tokio::test]
async fn a_server_that_ends_ends_the_connection() {
    let (remote, _) = played().await;
    let mut stream = remote.connect_port(13).await.unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).await.unwrap();
    assert_eq!(all, "so much\n");
}

#[tokio::test]
async fn a_client_that_drops_its_connection_closes_it_at_the_other_end() {
    let (remote, seen) = played().await;
    for port in [7, 9] {
        let mut stream = remote.connect_port(port).await.unwrap();
        stream.write_all(b"x").await.unwrap();
        assert_eq!(seen.running.load(Ordering::SeqCst), 1);
        drop(stream);
        if port == 7 {
            ends(&seen).await;
        }
    }
}

#[tokio::test]
async fn a_server_that_takes_nothing_slows_its_own_connection_down_and_no_other() {
    let (remote, _) = played().await;
    let mut deaf = remote.connect_port(9).await.unwrap();
    let flood = deaf.write_all(&[b'x'; 64 * 1024 * 1024]);
    assert!(tokio::time::timeout(Duration::from_millis(500), flood).await.is_err(), "64 MiB were taken");
    let mut stream = remote.connect_port(7).await.unwrap();
    stream.write_all(b"hello").await.unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"hello");
}

#[tokio::test]
async fn a_refusal_arrives_as_it_is() {
    let why = Error::new(ErrorKind::NotFound, "no server listens there").hint("start one");
    let remote = connected(Scripted::over(in_memory_files()).failing(why)).await;
    let refused = remote.connect_port(80).await.err().unwrap();
    assert_eq!((refused.kind(), refused.sentence()), (ErrorKind::NotFound, "no server listens there"));
}
