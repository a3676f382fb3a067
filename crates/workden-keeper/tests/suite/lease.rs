//! Connections without the token: they hold no lease, take no slot of a client, and are closed.

use std::{
    io::{Read, Write},
    os::unix::net::UnixStream as StdStream,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::net::UnixStream;
use workden_core::Sandbox;
use workden_wire::{RemoteSandbox, TokenHash};

use crate::common::{PATIENCE, until};

const KEEPER: &str = env!("CARGO_BIN_EXE_workden-keeper");
/// The start of HTTP/2: its preface, and empty settings.
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
        // The file exists a moment before the keeper listens. A connection that sends nothing is closed at once.
        let began = Instant::now();
        while StdStream::connect(&socket).is_err() {
            assert!(began.elapsed() < PATIENCE, "the keeper does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        Self { _directory: directory, socket, process }
    }

    /// Opens a connection that greets, and shows no token.
    fn stranger(&self) -> StdStream {
        let mut stream = StdStream::connect(&self.socket).unwrap();
        stream.write_all(HELLO).unwrap();
        stream
    }

    async fn client(&self) -> RemoteSandbox {
        RemoteSandbox::connect(UnixStream::connect(&self.socket).await.unwrap(), Some("secret")).await.unwrap()
    }

    /// Waits for its end, and calls `meanwhile` repeatedly.
    fn wait_for_end(&mut self, mut meanwhile: impl FnMut(&Self)) {
        let began = Instant::now();
        while self.process.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < PATIENCE, "strangers hold the lease");
            meanwhile(self);
            thread::sleep(Duration::from_millis(100));
        }
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
    // The keeper closes strangers after a while, so a new one comes again and again.
    let mut strangers = Vec::new();
    serving.wait_for_end(|serving| strangers.extend(StdStream::connect(&serving.socket)));
    drop((silent, greeting));
}

#[test]
fn attached_streams_without_the_token_hold_no_lease() {
    let mut serving = Serving::start(&["--ttl", "1", "--attached"], Stdio::piped(), Stdio::piped());
    let mut input = serving.process.stdin.take().unwrap();
    input.write_all(HELLO).unwrap();
    serving.wait_for_end(|_| {});
}

#[tokio::test]
async fn a_connection_without_the_token_is_closed_after_a_while_and_one_with_it_is_not() {
    let serving = Serving::start(&[], Stdio::null(), Stdio::null());
    let client = serving.client().await;
    let mut strangers = [StdStream::connect(&serving.socket).unwrap(), serving.stranger()];
    for stranger in &mut strangers {
        stranger.set_read_timeout(Some(PATIENCE)).unwrap();
        stranger.read_to_end(&mut Vec::new()).expect("the keeper closes it");
    }
    client.usage().await.unwrap();
}

#[tokio::test]
async fn many_connections_without_the_token_keep_no_client_out() {
    let serving = Serving::start(&[], Stdio::null(), Stdio::null());
    let first = serving.client().await;
    let strangers: Vec<_> = (0..100).map(|_| serving.stranger()).collect();
    let second = serving.client().await;
    second.usage().await.unwrap();
    first.usage().await.unwrap();
    drop(strangers);
}

/// Connections that a thread opens as fast as it can.
#[derive(Default)]
struct Flood {
    connected: AtomicUsize,
    enough: AtomicBool,
}

impl Flood {
    fn wait_for_more(&self, connections: usize) {
        let (began, before) = (Instant::now(), self.connected.load(Ordering::Relaxed));
        while self.connected.load(Ordering::Relaxed) < before + connections {
            assert!(began.elapsed() < PATIENCE, "the flood has dried up");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Returns whether the relay has connected.
fn is_relay(pid: u32) -> bool {
    let sockets = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|link| link.to_string_lossy().starts_with("socket:")));
    // Its two standard streams, and the keeper's.
    sockets.count() >= 3
}

#[tokio::test]
async fn a_flood_of_another_process_keeps_no_client_out() {
    let serving = Serving::start(&[], Stdio::null(), Stdio::null());
    let flood = Arc::new(Flood::default());
    let (flooding, socket) = (Arc::clone(&flood), serving.socket.clone());
    let flooder = thread::spawn(move || {
        let mut held = std::collections::VecDeque::new();
        while !flooding.enough.load(Ordering::Relaxed) {
            held.extend(StdStream::connect(&socket).ok());
            flooding.connected.fetch_add(1, Ordering::Relaxed);
            // Thousands of connections in a second, and some time for the keeper on a machine with few processors.
            thread::sleep(Duration::from_micros(100));
            if held.len() > 200 {
                held.pop_front();
            }
        }
    });
    flood.wait_for_more(200);
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
        until("the relay runs", || is_relay(relay.id())).await;
        flood.wait_for_more(500);
        ours.set_nonblocking(true).unwrap();
        let client = RemoteSandbox::connect(UnixStream::from_std(ours).unwrap(), Some("secret")).await.unwrap();
        client.usage().await.unwrap();
        relay.kill().unwrap();
        relay.wait().unwrap();
    }
    flood.enough.store(true, Ordering::Relaxed);
    flooder.join().unwrap();
}
