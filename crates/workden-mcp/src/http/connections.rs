//! The connections of a server over HTTP.
//!
//! Invariant: their number is bounded, and a client that was never admitted keeps no other out: one connection too
//! many closes the oldest of those. A client that is slow with its headers is disconnected in any case.

use std::{
    collections::BTreeMap,
    io,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use crate::limits::CONNECTION_BYTES;

/// How long the server pauses after a failed `accept`, which fails when too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves connections until `stop` is cancelled.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limit: usize,
    headers_timeout: Duration,
    stop: CancellationToken,
) -> io::Result<()> {
    let slots = Arc::new(ConnectionSlots { limit, state: Mutex::default() });
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            // Removes connections that have ended.
            Some(_) = open.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => match slots.take() {
                Some(connection) => {
                    drop(open.spawn(serve_one(stream, router.clone(), connection, headers_timeout, stop.clone())));
                }
                None => tracing::warn!(limit, "refused a connection: too many connections"),
            },
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
    Ok(())
}

async fn serve_one(
    stream: TcpStream,
    router: Router,
    connection: OpenConnection,
    headers_timeout: Duration,
    stop: CancellationToken,
) {
    let service = TowerToHyperService::new(router.layer(Extension(connection.slot.clone())));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(headers_timeout).max_buf_size(CONNECTION_BYTES);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = connection.evicted.cancelled() => return,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// The slots for connections.
#[derive(Debug)]
struct ConnectionSlots {
    limit: usize,
    state: Mutex<SlotState>,
}

#[derive(Debug, Default)]
struct SlotState {
    open: usize,
    next: u64,
    /// Connections without an admitted request, oldest first.
    not_admitted: BTreeMap<u64, CancellationToken>,
}

impl ConnectionSlots {
    fn take(self: &Arc<Self>) -> Option<OpenConnection> {
        let mut state = self.state();
        if state.open >= self.limit {
            let (_, evicted) = state.not_admitted.pop_first()?;
            evicted.cancel();
        }
        let (number, evicted) = (state.next, CancellationToken::new());
        state.open += 1;
        state.next += 1;
        state.not_admitted.insert(number, evicted.clone());
        drop(state);
        Some(OpenConnection { slot: ConnectionSlot { slots: Arc::clone(self), number }, evicted })
    }

    fn state(&self) -> MutexGuard<'_, SlotState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of one connection, as long as it is open.
#[derive(Debug)]
struct OpenConnection {
    slot: ConnectionSlot,
    evicted: CancellationToken,
}

/// The number of a slot. Requests hold it, and may outlive their connection.
#[derive(Clone, Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    number: u64,
}

impl ConnectionSlot {
    /// Records that a request of the connection was admitted: it is not closed for another one any more.
    pub(super) fn admit(&self) {
        self.slots.state().not_admitted.remove(&self.number);
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut state = self.slot.slots.state();
        state.open = state.open.saturating_sub(1);
        state.not_admitted.remove(&self.slot.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_was_not_admitted_closes_for_the_next_one() {
        let slots = Arc::new(ConnectionSlots { limit: 2, state: Mutex::default() });
        let (admitted, other) = (slots.take().unwrap(), slots.take().unwrap());
        admitted.slot.admit();
        let next = slots.take().unwrap();
        assert!(other.evicted.is_cancelled() && !admitted.evicted.is_cancelled());
        drop(other);
        next.slot.admit();
        assert!(slots.take().is_none(), "all connections were admitted");
        drop(admitted);
        assert!(slots.take().is_some() && !next.evicted.is_cancelled());
    }
}
