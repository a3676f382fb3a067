//! Byte streams with a server at one end and a client at the other.

use std::{
    os::unix::net::UnixStream as StdUnixStream,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::UnixStream,
    task::JoinHandle,
};
use workden_core::{Resolved, Result, Sandbox, SteppingClock, VirtualPath};
use workden_files::StateBackend;
use workden_wire::{RemoteSandbox, ServeOptions, serve};

use crate::scripted::{Scripted, Seen};

/// A pipe in memory.
pub(crate) fn in_memory() -> (DuplexStream, DuplexStream) {
    tokio::io::duplex(64 * 1024)
}

/// A socket pair, as a keeper is started with.
pub(crate) fn sockets() -> (UnixStream, UnixStream) {
    let (one, other) = StdUnixStream::pair().unwrap();
    let ready = |end: StdUnixStream| {
        end.set_nonblocking(true).unwrap();
        UnixStream::from_std(end).unwrap()
    };
    (ready(one), ready(other))
}

/// Serves a sandbox on one end of a pipe, as a task.
pub(crate) fn served<S>(sandbox: Arc<dyn Sandbox>, stream: S, options: ServeOptions) -> JoinHandle<Result<()>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(serve(sandbox, stream, options))
}

/// A client of a sandbox that is served over a pipe in memory.
pub(crate) async fn connected(sandbox: impl Sandbox + 'static) -> RemoteSandbox {
    let (near, far) = in_memory();
    served(Arc::new(sandbox), far, ServeOptions::default());
    RemoteSandbox::connect(near, None).await.unwrap()
}

/// A client of played processes, with no files worth naming.
pub(crate) async fn played() -> (RemoteSandbox, Arc<Seen>) {
    let sandbox = Scripted::over(in_memory_files());
    let seen = Arc::clone(&sandbox.seen);
    (connected(sandbox).await, seen)
}

/// Files in memory.
pub(crate) fn in_memory_files() -> StateBackend {
    StateBackend::new(Arc::new(SteppingClock::default()))
}

/// A path.
pub(crate) fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

/// A path that is what it says.
pub(crate) fn at(typed: &str) -> Resolved {
    Resolved::literal(path(typed))
}

/// Waits until something holds; fails the test when it does not within ten seconds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Gives all tasks time to do what they should not do.
pub(crate) async fn a_while() {
    tokio::time::sleep(Duration::from_millis(150)).await;
}
