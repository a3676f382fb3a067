//! Connections: accepted up to a number, encrypted where there is a certificate, and ended when the service ends.
//!
//! Invariant: a client that sends or reads nothing holds a connection for a bounded time. What a request may take is in
//! [`ConnectionLimits`]; what comes before and beneath requests is decided here.

mod limits;
mod patient_stream;
mod tls;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{HeaderValue, Request, header::HOST},
};
use hyper::body::Incoming;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
pub use limits::ConnectionLimits;
use patient_stream::PatientStream;
pub use tls::TlsFiles;
pub(crate) use tls::TlsIdentity;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use crate::service::Service;

/// How long to wait when the system has no room for a connection.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a quiet connection of HTTP/2 is asked for a sign of life, and how long that may take.
const SIGN_OF_LIFE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));
/// Calls of one connection of HTTP/2 at a time.
const STREAMS: u32 = 256;

/// How a request reached this service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// The other end of the connection.
    pub(crate) peer: IpAddr,
    /// Whether the connection is encrypted.
    pub(crate) is_encrypted: bool,
    /// Whether that is a proxy that the configuration trusts.
    pub(crate) is_from_proxy: bool,
}

impl Default for Arrival {
    fn default() -> Self {
        Self { peer: IpAddr::V4(Ipv4Addr::UNSPECIFIED), is_encrypted: false, is_from_proxy: false }
    }
}

/// What is served, and how.
pub(crate) struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) router: Router,
    /// The certificate, unless connections are not encrypted.
    pub(crate) identity: Option<Arc<TlsIdentity>>,
    pub(crate) service: Arc<Service>,
}

impl Listening {
    /// Accepts connections until it is stopped, and then waits for the calls in progress.
    pub(crate) async fn serve(self, stop: CancellationToken) {
        let slots = Arc::new(Semaphore::new(self.service.config().limits.connections));
        let (connections, serving) = (TaskTracker::new(), Arc::new(self));
        while let Some(Ok(slot)) = stop.run_until_cancelled(Arc::clone(&slots).acquire_owned()).await {
            let Some((stream, peer)) = stop.run_until_cancelled(serving.accept()).await else { break };
            let (serving, stop) = (Arc::clone(&serving), stop.clone());
            connections.spawn(async move {
                let open = &serving.service.metrics.connections;
                open.inc();
                serving.connection((stream, peer), &stop).await;
                open.dec();
                drop(slot);
            });
        }
        connections.close();
        connections.wait().await;
    }

    async fn accept(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                // The client was faster than the service.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::error!(%error, "cannot accept a connection; retrying");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    async fn connection(&self, (stream, peer): (TcpStream, SocketAddr), stop: &CancellationToken) {
        let (config, peer) = (self.service.config(), peer.ip().to_canonical());
        let limits = config.limits.clone();
        let is_from_proxy = config.trusted_proxies.iter().any(|proxy| proxy.to_canonical() == peer);
        let arrival = Arrival { peer, is_encrypted: self.identity.is_some(), is_from_proxy };
        let _ = stream.set_nodelay(true);
        let Some(identity) = &self.identity else {
            return self.requests(stream, arrival, &limits, stop).await;
        };
        match timeout(limits.header(), identity.acceptor().accept(stream)).await {
            Ok(Ok(stream)) => self.requests(stream, arrival, &limits, stop).await,
            Ok(Err(error)) => tracing::debug!(%error, "a connection is not TLS as it should be"),
            Err(_) => tracing::debug!("a client did not agree on TLS in time"),
        }
    }

    /// Serves the requests of a connection, until its client ends it or the service ends.
    async fn requests<S>(&self, stream: S, arrival: Arrival, limits: &ConnectionLimits, stop: &CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = TokioIo::new(PatientStream::new(stream, limits));
        let service = self.router.clone().map_request(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(arrival);
            with_host(request.map(Body::new))
        });
        let service = TowerToHyperService::new(service);
        let builder = limits.builder();
        let mut connection = std::pin::pin!(builder.serve_connection_with_upgrades(stream, service));
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }
}

impl ConnectionLimits {
    /// Returns the rules of a connection.
    fn builder(&self) -> Builder<TokioExecutor> {
        let mut builder = Builder::new(TokioExecutor::new());
        let bytes = self.header_bytes;
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header())
            .max_headers(self.headers)
            .max_buf_size(bytes);
        builder
            .http2()
            .timer(TokioTimer::new())
            .keep_alive_interval(SIGN_OF_LIFE.0)
            .keep_alive_timeout(SIGN_OF_LIFE.1)
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(u32::try_from(bytes).unwrap_or(u32::MAX))
            .enable_connect_protocol();
        builder
    }
}

/// Names the host in `Host`, where HTTP/2 has it in the address: routes that decide by it look in one place.
fn with_host(mut request: Request<Body>) -> Request<Body> {
    if !request.headers().contains_key(HOST)
        && let Some(host) = request.uri().authority()
        && let Ok(host) = HeaderValue::from_str(host.as_str())
    {
        request.headers_mut().insert(HOST, host);
    }
    request
}
