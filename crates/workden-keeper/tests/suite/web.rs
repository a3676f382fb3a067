//! A keeper on a port, behind a proxy of HTTP: both sides prove that they know the secret, and a connection that does
//! not costs little and ends soon.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};
use workden_core::{
    ErrorKind, Result, Sandbox,
    sandbox::{ExecuteRequest, JobRequest},
};
use workden_wire::{
    Launch, LaunchTarget, Lifetime, MessageStream, PROTOCOL, PortAccess, RemoteSandbox, SharedSecret, answer_challenge,
    challenge,
};

use crate::common::{PATIENCE, environment, until};

/// A keeper that serves a port.
struct PortKeeper {
    _directory: tempfile::TempDir,
    process: Child,
    input: Option<ChildStdin>,
    port: u16,
}

fn secret() -> SharedSecret {
    SharedSecret::derive(b"key", "test")
}

fn launch(directory: &std::path::Path, ttl: Option<Duration>) -> Launch {
    let target = LaunchTarget::Container { directory: directory.into(), environment: environment() };
    let access = PortAccess { ttl, secret: secret().to_digits() };
    Launch { protocol: PROTOCOL, target, lifetime: Lifetime::Port(access) }
}

impl PortKeeper {
    fn start(ttl: Option<Duration>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_workden-keeper"))
            .args(["serve", "--port", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = process.stdin.take().unwrap();
        writeln!(input, "{}", serde_json::to_string(&launch(directory.path(), ttl)).unwrap()).unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
        assert_eq!(said.next().unwrap().unwrap(), "\"ready\"");
        let line = said.next().unwrap().unwrap();
        let port = line.strip_prefix("port ").unwrap().parse().unwrap();
        Self { _directory: directory, process, input: Some(input), port }
    }

    async fn socket(&self) -> MessageStream<TcpStream> {
        opened(self.port).await
    }

    async fn connect(&self, secret: &SharedSecret) -> Result<RemoteSandbox> {
        let mut stream = self.socket().await;
        challenge(&mut stream, secret, &self.port.to_string()).await?;
        RemoteSandbox::connect(stream, None).await
    }
}

impl Drop for PortKeeper {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn opened(port: u16) -> MessageStream<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = http::Request::builder()
        .uri(format!("ws://127.0.0.1:{port}/"))
        .header("host", "keeper")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")
        .body(())
        .unwrap();
    MessageStream::connect(request, stream).await.map_err(|_| "no WebSocket").unwrap()
}

#[tokio::test]
async fn clients_that_know_the_secret_share_the_sandbox() {
    let mut keeper = PortKeeper::start(None);
    let first = keeper.connect(&secret()).await.unwrap();
    let done = first.execute(&ExecuteRequest::shell("echo hi; cat; echo end")).await.unwrap();
    assert_eq!(done.output.text(), "hi\nend\n", "a command does not have the keeper's input");
    // The service that started the keeper may close its streams.
    drop(keeper.input.take());
    let job = first.start_job(&JobRequest::shell("sleep 300")).await.unwrap();
    drop(first);
    let second = keeper.connect(&secret()).await.unwrap();
    assert_eq!(second.jobs().await.unwrap()[0].pid, job.pid);
    second.stop().await.unwrap();
    until("the keeper ends", || keeper.process.try_wait().unwrap().is_some()).await;
}

#[tokio::test]
async fn a_client_with_another_secret_is_refused_and_neither_side_learns_anything() {
    let keeper = PortKeeper::start(None);
    let refused = keeper.connect(&SharedSecret::derive(b"other", "test")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    // A client that skips the proof gets one answer, which is of no use, and the end.
    let mut stream = keeper.socket().await;
    stream.write_all(&[0; 64]).await.unwrap();
    let mut said = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut said)).await.unwrap();
    assert_eq!(said.len(), 64);
    assert!(keeper.connect(&secret()).await.is_ok());
}

#[tokio::test]
async fn a_process_that_passes_the_proofs_on_from_another_port_is_found_out() {
    let keeper = PortKeeper::start(None);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let behind = keeper.port;
    tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut keeper = TcpStream::connect(("127.0.0.1", behind)).await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut client, &mut keeper).await;
    });
    let mut stream = opened(port).await;
    let refused = challenge(&mut stream, &secret(), &port.to_string()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn a_process_that_took_the_port_learns_no_proof() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let impostor = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = MessageStream::accept(stream).await.unwrap();
        answer_challenge(&mut stream, &SharedSecret::derive(b"guess", "test"), &port.to_string()).await
    });
    let mut stream = opened(port).await;
    let refused = challenge(&mut stream, &secret(), &port.to_string()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    drop(stream);
    assert_eq!(impostor.await.unwrap().unwrap_err().kind(), ErrorKind::Gone);
}

#[tokio::test]
async fn strangers_are_closed_and_do_not_keep_clients_out() {
    let keeper = PortKeeper::start(None);
    // The wire and TLS are not served here, and a flood of silent connections evicts itself.
    let mut wire = TcpStream::connect(("127.0.0.1", keeper.port)).await.unwrap();
    wire.write_all(b"PRI * HTTP/2.0\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    let _ = timeout(PATIENCE, wire.read_to_end(&mut said)).await.unwrap();
    assert!(said.is_empty());
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(TcpStream::connect(("127.0.0.1", keeper.port)).await.unwrap());
    }
    let client = keeper.connect(&secret()).await.unwrap();
    assert!(client.execute(&ExecuteRequest::shell("true")).await.is_ok());
    let mut oldest = flood.remove(0);
    assert_eq!(timeout(PATIENCE, oldest.read(&mut [0])).await.unwrap().unwrap_or(0), 0);
}

#[tokio::test]
async fn a_launch_for_something_else_is_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let other = Launch { lifetime: Lifetime::Owned, ..launch(directory.path(), None) };
    let version = Launch { protocol: PROTOCOL + 1, ..launch(directory.path(), None) };
    for wrong in [other, version] {
        let mut process = Command::new(env!("CARGO_BIN_EXE_workden-keeper"))
            .args(["serve", "--port", "0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        writeln!(process.stdin.take().unwrap(), "{}", serde_json::to_string(&wrong).unwrap()).unwrap();
        let done = process.wait_with_output().unwrap();
        assert!(!done.status.success() && String::from_utf8_lossy(&done.stdout).contains("refused"), "{done:?}");
    }
}
