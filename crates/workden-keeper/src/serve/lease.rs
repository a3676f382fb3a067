//! Serves a socket, and in a pod a port, to several clients with a token, and tracks how long there has been none. A
//! connection counts as a client, and holds the lease, from its first admitted call on.

use std::{
    future::pending,
    io,
    net::TcpListener,
    os::unix::{fs::FileTypeExt, net::UnixListener},
    path::Path,
    pin::pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::{fs::Mode, process::umask};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::Notify,
    task::yield_now,
    time::{Instant, sleep},
};
use tokio_rustls::TlsAcceptor;
use workden_core::{Error, ErrorKind, Result, Sandbox};
use workden_wire::{Reply, ServeOptions, TokenHash, write_reply};

use super::{
    client_stream::ClientStream,
    pending::{Peer, PendingConnections},
};

/// The interval at which a silent client is asked whether it is still there.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(20);
/// The most clients at a time.
const CLIENTS: usize = 64;

/// Creates a socket that only this user can open. Replaces a stale one.
pub(super) fn listen(path: &Path) -> Result<UnixListener> {
    if std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket()) {
        let _ = std::fs::remove_file(path);
    }
    // The process has one thread yet, or creates no other files meanwhile.
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(path);
    umask(before);
    let failed = |error: std::io::Error| {
        Error::new(ErrorKind::Io, format!("cannot listen on the socket of the keeper: {}", error.kind()))
            .hint("use an existing directory, and a path of at most 100 bytes")
    };
    let listener = listener.map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// The connected clients, and the time of the last disconnection.
#[derive(Debug)]
pub(super) struct Clients {
    connected: AtomicUsize,
    last: Mutex<Instant>,
}

/// A connected client.
struct ClientGuard(Arc<Clients>);

impl Drop for ClientGuard {
    fn drop(&mut self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.connected.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Clients {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { connected: AtomicUsize::new(0), last: Mutex::new(Instant::now()) })
    }

    /// Adds a client, if the limit allows.
    fn add(self: &Arc<Self>) -> Option<ClientGuard> {
        let more = |connected| (connected < CLIENTS).then_some(connected + 1);
        let added = self.connected.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        added.is_ok().then(|| ClientGuard(Arc::clone(self)))
    }

    /// Serves a stream to its end. It counts as a client from the first admitted call on; until then it is closed
    /// when `wait` is over.
    pub(super) async fn serve<S>(
        self: &Arc<Self>,
        sandbox: Arc<dyn Sandbox>,
        stream: S,
        options: ServeOptions,
        wait: impl Future<Output = ()>,
    ) where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let admitted = Arc::new(Notify::new());
        let admit = Arc::clone(&admitted);
        let options = options.on_admission(move || admit.notify_one());
        let mut served = pin!(workden_wire::serve(sandbox, stream, options));
        let client = tokio::select! {
            biased;
            _ = &mut served => return,
            () = admitted.notified() => self.add(),
            () = wait => return,
        };
        if client.is_none() {
            tracing::warn!(most = CLIENTS, "too many clients: connection closed");
            return;
        }
        tracing::debug!("client connected");
        match served.await {
            Ok(()) => tracing::debug!("client disconnected"),
            Err(error) => tracing::debug!(%error, "connection to a client lost"),
        }
    }

    /// Waits until no client has been connected for `ttl`.
    pub(super) async fn absent_for(&self, ttl: Duration) {
        loop {
            let absent = match self.connected.load(Ordering::Relaxed) {
                0 => self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed(),
                _ => Duration::ZERO,
            };
            match ttl.checked_sub(absent) {
                None | Some(Duration::ZERO) => return,
                Some(left) => sleep(left).await,
            }
        }
    }
}

/// Returns the options for clients with a token. The heartbeat detects those that vanished, which must not hold the
/// lease.
pub(super) fn options(token: TokenHash) -> ServeOptions {
    ServeOptions::default().token(token).heartbeat(HEARTBEAT)
}

/// Where clients connect.
pub(super) struct Entrances {
    pub(super) token: TokenHash,
    pub(super) socket: Option<UnixListener>,
    pub(super) port: Option<TcpListener>,
    /// Clients connect over TLS, because a relay or a network is between them and the keeper.
    pub(super) tls: Option<TlsAcceptor>,
}

/// Serves clients with the token, for ever.
pub(super) async fn serve(entrances: Entrances, sandbox: Arc<dyn Sandbox>, clients: Arc<Clients>) -> Result<()> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Io, format!("cannot watch the socket of the keeper: {}", error.kind()))
    };
    let Entrances { token, socket, port, tls } = entrances;
    let socket = socket.map(tokio::net::UnixListener::from_std).transpose().map_err(failed)?;
    let port = port.map(tokio::net::TcpListener::from_std).transpose().map_err(failed)?;
    let mut waiting = PendingConnections::default();
    loop {
        let accepted = tokio::select! {
            accepted = accept_local(socket.as_ref()) => accepted,
            accepted = accept_remote(port.as_ref()) => accepted,
        };
        let Ok((stream, peer)) = accepted else {
            // Out of descriptors: wait until some are free.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let wait = waiting.enter(peer);
        let (clients, sandbox, options) = (Arc::clone(&clients), Arc::clone(&sandbox), options(token.clone()));
        let tls = tls.clone();
        tokio::spawn(async move {
            let mut over = pin!(wait.over());
            // Nothing is allocated for a connection that sends nothing or is evicted at once, so that a flood costs
            // little.
            let first = tokio::select! {
                biased;
                () = &mut over => return,
                first = stream.first_byte() => first,
            };
            let Some(tls) = tls else { return clients.serve(sandbox, stream, options, over).await };
            match first {
                None => return,
                // A launch is a line of JSON, and TLS does not start like this.
                Some(b'{') => return refuse_launch(stream).await,
                Some(_) => {}
            }
            let secured = tokio::select! {
                biased;
                () = &mut over => return,
                secured = tls.accept(stream) => secured,
            };
            match secured {
                Ok(stream) => clients.serve(sandbox, stream, options, over).await,
                Err(error) => tracing::debug!(%error, "TLS failed"),
            }
        });
        // An evicted connection is closed before the next one is accepted.
        yield_now().await;
    }
}

async fn accept_local(listener: Option<&tokio::net::UnixListener>) -> io::Result<(ClientStream, Peer)> {
    let Some(listener) = listener else { return pending().await };
    let (stream, _) = listener.accept().await?;
    let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
    Ok((ClientStream::Local(stream), Peer::Process(process)))
}

async fn accept_remote(listener: Option<&tokio::net::TcpListener>) -> io::Result<(ClientStream, Peer)> {
    let Some(listener) = listener else { return pending().await };
    let (stream, address) = listener.accept().await?;
    // Calls are small, and each waits for its answer.
    stream.set_nodelay(true)?;
    Ok((ClientStream::Remote(stream), Peer::Address(address.ip())))
}

/// Tells a second launcher that the keeper has been launched.
async fn refuse_launch(mut stream: ClientStream) {
    let error = Error::new(ErrorKind::Conflict, "another launcher has configured this keeper");
    let mut line = Vec::new();
    if write_reply(&mut line, &Reply::Refused(error)).is_ok() {
        let _ = stream.write_all(&line).await;
    }
}
