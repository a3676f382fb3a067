//! The lifetime of a keeper: it serves and reaps until one of its end conditions is met, and then ends everything
//! that it started.

use std::{
    future::{Future, pending},
    os::fd::OwnedFd,
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinHandle,
    time::{sleep, timeout},
};
use workden_core::{Result, Sandbox};
use workden_wire::ServeOptions;

use super::{
    lease::{self, Clients, Entrances},
    signals::Signals,
};
use crate::{keeper::Keeper, sys};

/// The time for the answer to a stop to arrive.
const LAST_ANSWER: Duration = Duration::from_secs(1);

/// When a keeper ends, besides being stopped.
#[derive(Debug, Default)]
pub(super) struct EndConditions {
    /// The stream of its launcher ends.
    pub(super) with_stream: bool,
    /// The process that owns it ends.
    pub(super) owner: Option<OwnedFd>,
    /// No client has been connected for this long.
    pub(super) lease: Option<Duration>,
    /// It has lived this long.
    pub(super) wall_clock: Option<Duration>,
    /// There were neither calls nor running commands for this long.
    pub(super) idle: Option<Duration>,
}

/// The stream of the launcher, and how it is served.
pub(super) struct LauncherStream<S> {
    pub(super) stream: S,
    pub(super) options: ServeOptions,
}

/// Serves clients, by what `serve` returns, until an end condition is met, and ends everything.
pub(super) async fn serve_clients_until_end<F>(
    keeper: Arc<Keeper>,
    ends: EndConditions,
    serve: impl FnOnce(Arc<Clients>) -> F,
) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    let clients = Clients::new();
    let shared = serve(Arc::clone(&clients));
    until_end(keeper, tokio::spawn(async {}), shared, &clients, ends).await
}

/// Serves until an end condition is met, and ends everything.
pub(super) async fn serve_until_end<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    keeper: Arc<Keeper>,
    stream: Option<LauncherStream<S>>,
    entrances: Option<Entrances>,
    ends: EndConditions,
) -> Result<()> {
    let clients = Clients::new();
    let sandbox: Arc<dyn Sandbox> = Arc::clone(&keeper) as _;
    let own_stream = tokio::spawn(own_stream(Arc::clone(&sandbox), stream, Arc::clone(&clients)));
    let shared = async {
        match entrances {
            Some(entrances) => lease::serve(entrances, sandbox, Arc::clone(&clients)).await,
            None => pending().await,
        }
    };
    until_end(keeper, own_stream, shared, &clients, ends).await
}

async fn until_end(
    keeper: Arc<Keeper>,
    mut own_stream: JoinHandle<()>,
    shared: impl Future<Output = Result<()>>,
    clients: &Clients,
    ends: EndConditions,
) -> Result<()> {
    let mut signals = Signals::new()?;
    tracing::info!(pid = std::process::id(), "keeper serves");
    let reason = tokio::select! {
        _ = &mut own_stream, if ends.with_stream => "the launcher's stream closed",
        failed = shared => {
            failed?;
            "its socket closed"
        }
        () = signals.reap_until_told_to_end(&keeper) => "a signal",
        () = owner_gone(ends.owner) => "the owning process exited",
        () = after(ends.wall_clock) => "the wall clock limit",
        () = idle(&keeper, ends.idle) => "the idle limit",
        () = unleased(clients, ends.lease) => "the lease ended",
        () = keeper.stopped() => {
            let _ = timeout(LAST_ANSWER, own_stream).await;
            "a call of stop"
        }
    };
    tracing::info!(reason, "keeper ends");
    keeper.stop().await
}

/// Serves the launcher on its own stream.
async fn own_stream<S>(sandbox: Arc<dyn Sandbox>, own: Option<LauncherStream<S>>, clients: Arc<Clients>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(LauncherStream { stream, options }) = own else { return };
    // There is only one such stream, and no other process can open it: it may wait for ever, and holds no lease.
    clients.serve(sandbox, stream, options, pending()).await;
}

async fn owner_gone(owner: Option<OwnedFd>) {
    match owner.and_then(|owner| sys::watched(owner).ok()) {
        // Readable when the process has ended.
        Some(owner) => drop(owner.readable().await.map(|_| ())),
        None => pending().await,
    }
}

pub(super) async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}

async fn idle(keeper: &Keeper, limit: Option<Duration>) {
    let Some(limit) = limit else { return pending().await };
    loop {
        match limit.checked_sub(keeper.idle()) {
            None | Some(Duration::ZERO) => return,
            Some(left) => sleep(left).await,
        }
    }
}

async fn unleased(clients: &Clients, ttl: Option<Duration>) {
    match ttl {
        Some(ttl) => clients.absent_for(ttl).await,
        None => pending().await,
    }
}
