//! Serves a socket to several clients with a token, and tracks how long there has been none. A connection counts as a
//! client, and holds the lease, from its first admitted call on.

use std::{
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
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
    task::yield_now,
    time::{Instant, sleep},
};
use workden_core::{Error, ErrorKind, Result, Sandbox};
use workden_wire::{ServeOptions, TokenHash};

use super::pending::PendingConnections;

/// The interval at which a silent client is asked whether it is still there.
const HEARTBEAT: Duration = Duration::from_secs(20);
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

/// Serves clients with the token, for ever.
pub(super) async fn serve(
    listener: UnixListener,
    token: TokenHash,
    sandbox: Arc<dyn Sandbox>,
    clients: Arc<Clients>,
) -> Result<()> {
    let listener = tokio::net::UnixListener::from_std(listener).map_err(|error| {
        Error::new(ErrorKind::Io, format!("cannot watch the socket of the keeper: {}", error.kind()))
    })?;
    let mut waiting = PendingConnections::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: wait until some are free.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let wait = waiting.enter(stream.peer_cred().ok().and_then(|peer| peer.pid()));
        let (clients, sandbox, options) = (Arc::clone(&clients), Arc::clone(&sandbox), options(token.clone()));
        tokio::spawn(async move {
            let mut over = pin!(wait.over());
            // Nothing is allocated for a connection that sends nothing or is evicted at once, so that a flood costs
            // little.
            tokio::select! {
                biased;
                () = &mut over => return,
                _ = stream.readable() => {}
            }
            clients.serve(sandbox, stream, options, over).await;
        });
        // An evicted connection is closed before the next one is accepted.
        yield_now().await;
    }
}
