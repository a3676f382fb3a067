//! A TCP proxy that adds a delay to each direction. The addresses that the service names lead through it, too: their
//! ports have as many digits as its own, so that they can be replaced in an answer.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    time::{Instant, sleep_until},
};

/// Starts a proxy to this address, and returns its own.
pub(crate) async fn slow_link(to: String, one_way: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    assert_eq!(address.len(), to.len(), "{address} {to}");
    let named = (to.clone(), address.clone());
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(&to).await.unwrap();
            near.set_nodelay(true).unwrap();
            far.set_nodelay(true).unwrap();
            let ((from_near, to_near), (from_far, to_far)) = (near.into_split(), far.into_split());
            tokio::spawn(copy_late(from_near, to_far, one_way, None));
            tokio::spawn(copy_late(from_far, to_near, one_way, Some(named.clone())));
        }
    });
    address
}

/// Passes each piece on after the delay, with one address replaced by another. Pieces that follow do not wait for one
/// another.
async fn copy_late(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    delay: Duration,
    replaced: Option<(String, String)>,
) {
    let (sender, mut pieces) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((due, piece)) = pieces.recv().await {
            sleep_until(due).await;
            if to.write_all(&piece).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    });
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let mut piece = buffer[..length].to_vec();
        if let Some((before, after)) = &replaced {
            while let Some(at) = piece.windows(before.len()).position(|window| window == before.as_bytes()) {
                piece[at..at + after.len()].copy_from_slice(after.as_bytes());
            }
        }
        if sender.send((Instant::now() + delay, piece)).is_err() {
            return;
        }
    }
}
