//! Who connects without the token: they hold no lease, take nobody's place, and are not kept.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream as StdStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::net::UnixStream;
use workden_core::Sandbox;
use workden_wire::{RemoteSandbox, TokenHash};

const KEEPER: &str = env!("CARGO_BIN_EXE_workden-keeper");
/// How HTTP/2 begins: its preface, and settings that set nothing.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A keeper that serves a socket as in a container.
struct Serving {
    _directory: tempfile::TempDir,
    socket: PathBuf,
    process: Child,
}

impl Serving {
    fn start(more: &[&str], input: Stdio, output: Stdio) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("socket");
        let process = Command::new(KEEPER)
            .args(["serve", "--token-sha256", &TokenHash::of("secret").to_string()])
            .args(["--socket", socket.to_str().unwrap(), "--directory", directory.path().to_str().unwrap()])
            .args(more)
            .stdin(input)
            .stdout(output)
            .spawn()
            .unwrap();
        // The file is there a moment before anybody listens. A connection that only looks is closed at once.
        let began = Instant::now();
        while StdStream::connect(&socket).is_err() && began.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(5));
        }
        Self { _directory: directory, socket, process }
    }

    /// A connection that greets, and shows no token.
    fn stranger(&self) -> StdStream {
        let mut stream = StdStream::connect(&self.socket).unwrap();
        stream.write_all(HELLO).unwrap();
        stream
    }

    async fn client(&self) -> RemoteSandbox {
        RemoteSandbox::connect(UnixStream::connect(&self.socket).await.unwrap(), Some("secret")).await.unwrap()
    }

    fn ends_within(&mut self, most: Duration) -> bool {
        let began = Instant::now();
        while began.elapsed() < most {
            if self.process.try_wait().unwrap().is_some() {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_connection_without_the_token_holds_no_lease() {
    let mut serving = Serving::start(&["--ttl", "1"], Stdio::null(), Stdio::null());
    let silent = StdStream::connect(&serving.socket).unwrap();
    let greeting = serving.stranger();
    let refused = UnixStream::connect(&serving.socket).await.unwrap();
    let _ = RemoteSandbox::connect(refused, Some("wrong")).await.unwrap_err();
    assert!(serving.ends_within(Duration::from_secs(4)), "strangers hold the lease");
    drop((silent, greeting));
}

#[test]
fn attached_streams_without_the_token_hold_no_lease() {
    let mut serving = Serving::start(&["--ttl", "1", "--attached"], Stdio::piped(), Stdio::piped());
    let mut input = serving.process.stdin.take().unwrap();
    input.write_all(HELLO).unwrap();
    assert!(serving.ends_within(Duration::from_secs(4)), "a stranger holds the lease");
}

#[tokio::test]
async fn a_connection_without_the_token_is_closed_after_a_while_and_one_with_it_is_not() {
    let serving = Serving::start(&[], Stdio::null(), Stdio::null());
    let client = serving.client().await;
    let mut strangers = [StdStream::connect(&serving.socket).unwrap(), serving.stranger()];
    for stranger in &mut strangers {
        stranger.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stranger.read_to_end(&mut Vec::new()).expect("the keeper closes it");
    }
    client.usage().await.unwrap();
}

#[tokio::test]
async fn many_connections_without_the_token_keep_nobody_out() {
    let serving = Serving::start(&[], Stdio::null(), Stdio::null());
    let first = serving.client().await;
    let strangers: Vec<_> = (0..100).map(|_| serving.stranger()).collect();
    let second = serving.client().await;
    second.usage().await.unwrap();
    first.usage().await.unwrap();
    drop(strangers);
}

#[tokio::test]
async fn a_flood_of_another_process_keeps_nobody_out() {
    let serving = Serving::start(&[], Stdio::null(), Stdio::null());
    let enough = Arc::new(AtomicBool::new(false));
    let (flooding, socket) = (Arc::clone(&enough), serving.socket.clone());
    let flood = thread::spawn(move || {
        let mut held = std::collections::VecDeque::new();
        while !flooding.load(Ordering::Relaxed) {
            held.extend(StdStream::connect(&socket).ok());
            if held.len() > 200 {
                held.pop_front();
            }
        }
    });
    thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    for _ in 0..2 {
        let (ours, theirs) = StdStream::pair().unwrap();
        let theirs = std::os::fd::OwnedFd::from(theirs);
        let mut relay = Command::new(KEEPER)
            .args(["connect", "--socket", serving.socket.to_str().unwrap()])
            .stdin(Stdio::from(theirs.try_clone().unwrap()))
            .stdout(Stdio::from(theirs))
            .spawn()
            .unwrap();
        // Long after it has connected.
        thread::sleep(Duration::from_millis(200));
        ours.set_nonblocking(true).unwrap();
        let client = RemoteSandbox::connect(UnixStream::from_std(ours).unwrap(), Some("secret")).await.unwrap();
        client.usage().await.unwrap();
        relay.kill().unwrap();
        relay.wait().unwrap();
    }
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
    enough.store(true, Ordering::Relaxed);
    flood.join().unwrap();
}
