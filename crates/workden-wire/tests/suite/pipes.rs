//! Byte streams with a server at one end and a client at the other.

use std::{os::unix::net::UnixStream as StdUnixStream, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream},
    net::UnixStream,
    task::JoinHandle,
};
use workden_core::{Result, Sandbox};
use workden_wire::{RemoteSandbox, ServeOptions, serve};

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
