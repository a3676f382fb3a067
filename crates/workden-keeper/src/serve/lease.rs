//! A socket that serves several clients with a token, and how long none has been there.

use std::{
    os::unix::{fs::FileTypeExt, net::UnixListener},
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::{fs::Mode, process::umask};
use tokio::time::{Instant, sleep};
use workden_core::{Error, ErrorKind, Result, Sandbox};
use workden_wire::{ServeOptions, TokenHash};

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
pub(super) struct Client(Arc<Clients>);

impl Drop for Client {
    fn drop(&mut self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.connected.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Clients {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { connected: AtomicUsize::new(0), last: Mutex::new(Instant::now()) })
    }

    pub(super) fn add(self: &Arc<Self>) -> Client {
        self.connected.fetch_add(1, Ordering::Relaxed);
        Client(Arc::clone(self))
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
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: some will be free again.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        if clients.connected.load(Ordering::Relaxed) >= CLIENTS {
            continue;
        }
        let client = clients.add();
        let served = workden_wire::serve(Arc::clone(&sandbox), stream, options(token.clone()));
        tokio::spawn(async move {
            let _ = served.await;
            drop(client);
        });
    }
}
