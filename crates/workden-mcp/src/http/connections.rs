//! The connections of a server over HTTP.
//!
//! Invariant: there are only so many, and who has not been let in cannot keep anybody out: with one more
//! than there may be, the oldest of those goes; and who is slow with its headers goes anyway.

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

/// How long nothing is accepted after the system refused, which it does when there are too many open files.
const BREATH: Duration = Duration::from_millis(200);

/// Serves everybody who comes, until it is stopped.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    most: usize,
    headers_time: Duration,
    stop: CancellationToken,
) -> io::Result<()> {
    let seats = Arc::new(Seats { most, state: Mutex::default() });
    let mut open = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            // What has ended is not kept.
            Some(_) = open.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => match seats.take() {
                Some(taken) => drop(open.spawn(talk(stream, router.clone(), taken, headers_time, stop.clone()))),
                None => tracing::warn!("a connection was refused: there are too many"),
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
    Ok(())
}

async fn talk(stream: TcpStream, router: Router, taken: Taken, headers_time: Duration, stop: CancellationToken) {
    let service = TowerToHyperService::new(router.layer(Extension(taken.seat.clone())));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(headers_time).max_buf_size(CONNECTION_BYTES);
    let mut talk = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = talk.as_mut() => ended,
        () = taken.lost.cancelled() => return,
        () = stop.cancelled() => {
            talk.as_mut().graceful_shutdown();
            talk.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// Room for connections.
#[derive(Debug)]
struct Seats {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    next: u64,
    /// Those who have not been let in, in the order in which they came.
    strangers: BTreeMap<u64, CancellationToken>,
}

impl Seats {
    fn take(self: &Arc<Self>) -> Option<Taken> {
        let mut state = self.state();
        if state.open >= self.most {
            let (_, lost) = state.strangers.pop_first()?;
            lost.cancel();
        }
        let (number, lost) = (state.next, CancellationToken::new());
        state.open += 1;
        state.next += 1;
        state.strangers.insert(number, lost.clone());
        drop(state);
        Some(Taken { seat: Seat { seats: Arc::clone(self), number }, lost })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, as long as it is open.
#[derive(Debug)]
struct Taken {
    seat: Seat,
    lost: CancellationToken,
}

/// Which place it is. Requests have it, and may outlive their connection.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
}

impl Seat {
    /// Whoever has it was let in, and keeps it.
    pub(super) fn keep(&self) {
        self.seats.state().strangers.remove(&self.number);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut state = self.seat.seats.state();
        state.open = state.open.saturating_sub(1);
        state.strangers.remove(&self.seat.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_goes_for_the_next_one_and_who_was_let_in_stays() {
        let seats = Arc::new(Seats { most: 2, state: Mutex::default() });
        let (known, stranger) = (seats.take().unwrap(), seats.take().unwrap());
        known.seat.keep();
        let next = seats.take().unwrap();
        assert!(stranger.lost.is_cancelled() && !known.lost.is_cancelled());
        drop(stranger);
        next.seat.keep();
        assert!(seats.take().is_none(), "everybody was let in");
        drop(known);
        assert!(seats.take().is_some() && !next.lost.is_cancelled());
    }
}
