//! Serves clients that reach a port through a proxy of HTTP: each opens a WebSocket, proves that it knows the secret,
//! and then speaks the wire in binary messages.
//!
//! Any process of the sandbox can connect. Until a connection has proven itself it takes one of few slots, ends soon,
//! and costs at most the bytes of one message.

use std::{io, net::TcpListener, pin::pin, sync::Arc, time::Duration};

use futures_util::future::select_all;
use tokio::{net::TcpStream, task::yield_now, time::sleep};
use workden_core::{Error, ErrorKind, Result, Sandbox};
use workden_wire::{MessageStream, ServeOptions, SharedSecret, answer_challenge};

use super::{
    client_stream::ClientStream,
    lease::{Clients, HEARTBEAT},
    pending::{Peer, PendingConnections},
};

/// Where clients connect.
pub(super) struct WebEntrance {
    pub(super) port: u16,
    /// The same port on each loopback address.
    pub(super) listeners: Vec<TcpListener>,
    pub(super) secret: SharedSecret,
}

/// Serves clients that know the secret, for ever.
pub(super) async fn serve(entrance: WebEntrance, sandbox: Arc<dyn Sandbox>, clients: Arc<Clients>) -> Result<()> {
    let listeners: io::Result<Vec<_>> = entrance.listeners.into_iter().map(tokio::net::TcpListener::from_std).collect();
    let listeners = listeners
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot watch the port of the keeper: {}", error.kind())))?;
    let (place, secret) = (Arc::<str>::from(entrance.port.to_string()), Arc::new(entrance.secret));
    let mut waiting = PendingConnections::default();
    loop {
        let (accepted, ..) = select_all(listeners.iter().map(|listener| Box::pin(listener.accept()))).await;
        let Ok((stream, address)) = accepted else {
            // Out of descriptors: wait until some are free.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let wait = waiting.enter(Peer::Address(address.ip()));
        let (clients, sandbox) = (Arc::clone(&clients), Arc::clone(&sandbox));
        let (place, secret) = (Arc::clone(&place), Arc::clone(&secret));
        tokio::spawn(async move {
            let mut over = pin!(wait.over());
            let proven = tokio::select! {
                biased;
                () = &mut over => return,
                proven = prove(stream, &secret, &place) => proven,
            };
            let Some(stream) = proven else { return };
            clients.serve(sandbox, stream, ServeOptions::default().heartbeat(HEARTBEAT), over).await;
        });
        // An evicted connection is closed before the next one is accepted.
        yield_now().await;
    }
}

/// Opens the WebSocket of a client, and lets both sides prove themselves.
async fn prove(stream: TcpStream, secret: &SharedSecret, place: &str) -> Option<MessageStream<ClientStream>> {
    // Calls are small, and each waits for its answer.
    stream.set_nodelay(true).ok()?;
    let stream = ClientStream::Remote(stream);
    // A proxy of HTTP starts with `GET`. Nothing is allocated for a connection that sends nothing.
    if stream.first_byte().await? != b'G' {
        return None;
    }
    let mut stream =
        MessageStream::accept(stream).await.inspect_err(|error| tracing::debug!(%error, "no WebSocket")).ok()?;
    match answer_challenge(&mut stream, secret, place).await {
        Ok(()) => Some(stream),
        Err(error) => {
            tracing::debug!(%error, "client refused");
            None
        }
    }
}
