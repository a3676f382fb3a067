//! A socket that serves several clients with a token, and how long none has been there. A connection is a client's
//! from the first call on that was let in, and holds the lease only from then on.

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

/// How long a client may be silent before it is asked whether it is there, and then again until it is not.
const HEARTBEAT: Duration = Duration::from_secs(20);
/// The most clients at a time.
const CLIENTS: usize = 64;

/// A socket that nobody but this user can open. One that is left over from before is replaced.
pub(super) fn listen(path: &Path) -> Result<UnixListener> {
    if std::fs::symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket()) {
        let _ = std::fs::remove_file(path);
    }
    // The process has one thread yet, or makes no files beside.
    let before = umask(Mode::from_raw_mode(0o177));
    let listener = UnixListener::bind(path);
    umask(before);
    let failed = |error: std::io::Error| {
        Error::new(ErrorKind::Io, format!("the keeper cannot listen on its socket: {}", error.kind()))
            .hint("its directory must exist, and the path be short: 100 bytes at most")
    };
    let listener = listener.map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

/// Who is connected, and since when nobody is.
#[derive(Debug)]
pub(super) struct Clients {
    connected: AtomicUsize,
    last: Mutex<Instant>,
}

/// A client that is connected.
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

    /// One more, if there is a place.
    fn add(self: &Arc<Self>) -> Option<ClientGuard> {
        let more = |connected| (connected < CLIENTS).then_some(connected + 1);
        let added = self.connected.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        added.is_ok().then(|| ClientGuard(Arc::clone(self)))
    }

    /// Serves a stream to its end. It is that of a client from the first call on that is let in; until then it is
    /// closed when `wait` is over.
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
        if client.is_some() {
            let _ = served.await;
        }
    }

    /// Waits until nobody has been connected for so long.
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

/// How a client that may be far away is served: one that is gone without a word must not hold the lease.
pub(super) fn options(token: TokenHash) -> ServeOptions {
    ServeOptions::default().token(token).heartbeat(HEARTBEAT)
}

/// Serves whoever connects and knows the token, for ever.
pub(super) async fn serve(
    listener: UnixListener,
    token: TokenHash,
    sandbox: Arc<dyn Sandbox>,
    clients: Arc<Clients>,
) -> Result<()> {
    let listener = tokio::net::UnixListener::from_std(listener)
        .map_err(|error| Error::new(ErrorKind::Io, format!("the keeper cannot watch its socket: {}", error.kind())))?;
    let mut waiting = PendingConnections::default();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: some will be free again.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let wait = waiting.enter(stream.peer_cred().ok().and_then(|peer| peer.pid()));
        let (clients, sandbox, options) = (Arc::clone(&clients), Arc::clone(&sandbox), options(token.clone()));
        tokio::spawn(async move {
            let mut over = pin!(wait.over());
            // A flood costs little: nothing is made ready for who says nothing, or had to go at once.
            tokio::select! {
                biased;
                () = &mut over => return,
                _ = stream.readable() => {}
            }
            clients.serve(sandbox, stream, options, over).await;
        });
        // However many come at once: who had to go is gone, descriptor and all, before the next is let in.
        yield_now().await;
    }
}
