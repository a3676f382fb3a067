//! Serving any number of clients over streamable HTTP.
//!
//! Three independent protections: the address (loopback unless a token is required), the token, and the checks of
//! `Host` and `Origin` against pages that a browser shows.

mod admission;
mod bearer_token;
mod connections;
mod endpoint;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    http::{StatusCode, header::WWW_AUTHENTICATE},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
pub use bearer_token::BearerToken;
use connections::ConnectionSlot;
pub use endpoint::HttpEndpoint;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use workden::{Error, ErrorKind, Result};

use crate::{
    McpServer,
    limits::{CONNECTIONS, HEADERS_TIMEOUT, SESSIONS, SHUTDOWN_TIMEOUT},
};

/// The path of the MCP endpoint.
const PATH: &str = "/mcp";

/// Options of a server over HTTP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Which clients may use the server.
    pub access: HttpAccess,
    /// Values of `Host` that are accepted besides `localhost`, `127.0.0.1`, `::1` and the address itself: a host name,
    /// with or without a port.
    pub allowed_hosts: Vec<String>,
    /// Origins whose scripts may use the server, like `https://example.com`. Default: none. Browsers send the origin
    /// of a script; other clients send none and are not affected.
    pub allowed_origins: Vec<String>,
    /// Connections at a time. One more closes the oldest connection without an admitted request; without such a
    /// connection the new one is refused. Default: 512.
    pub connections: usize,
    /// How long a connection may take for the headers of a request, and wait for the next one. Default: 30 seconds.
    pub headers_timeout: Duration,
    /// Sessions at a time. One more ends the session that was used longest ago. Default: 256.
    pub sessions: usize,
}

impl HttpOptions {
    /// Returns the default options, which accept no other hosts and no origins.
    #[must_use]
    pub fn new(access: HttpAccess) -> Self {
        Self {
            access,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            connections: CONNECTIONS,
            headers_timeout: HEADERS_TIMEOUT,
            sessions: SESSIONS,
        }
    }
}

/// Which clients may use a server over HTTP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum HttpAccess {
    /// Clients that send this token.
    Token(BearerToken),
    /// Every program of every user on this machine; the address must be a loopback address.
    ThisMachine,
}

/// A running server over HTTP. Dropping it stops it.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    stop: CancellationToken,
    serving: Option<JoinHandle<std::io::Result<()>>>,
}

impl HttpServer {
    /// Returns the address, with the port that the system chose for port 0.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for clients.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Waits until the server ends, which it does only on an error.
    ///
    /// # Errors
    ///
    /// When the server can no longer listen.
    pub async fn ended(mut self) -> Result<()> {
        self.wait().await
    }

    /// Stops listening, and ends all calls and connections.
    ///
    /// # Errors
    ///
    /// As [`HttpServer::ended`].
    pub async fn stop(mut self) -> Result<()> {
        self.stop.cancel();
        let ended = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.wait()).await;
        ended.unwrap_or_else(|_| {
            // A client that neither reads nor disconnects is not waited for.
            self.serving.iter().for_each(JoinHandle::abort);
            Ok(())
        })
    }

    async fn wait(&mut self) -> Result<()> {
        let Some(serving) = self.serving.as_mut() else { return Ok(()) };
        let ended = serving.await;
        self.serving = None;
        match ended {
            Ok(Ok(())) => Ok(()),
            ended => {
                tracing::error!(?ended, "the server can no longer listen");
                Err(Error::new(ErrorKind::Io, format!("cannot listen on {} any more", self.address)))
            }
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Serves clients over HTTP, at `http://ADDRESS/mcp`, until it is stopped.
///
/// # Errors
///
/// `InvalidArgument` for an address that is not a loopback address without a token; other kinds when the system
/// refuses to listen on the address.
pub async fn serve_http(server: &McpServer, address: SocketAddr, options: HttpOptions) -> Result<HttpServer> {
    if matches!(options.access, HttpAccess::ThisMachine) && !address.ip().is_loopback() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("cannot serve on {address} without a token: every host on the network could use it"),
        )
        .hint("listen on 127.0.0.1, or require a token"));
    }
    let cannot = |error: std::io::Error| {
        let (kind, why) = match error.kind() {
            std::io::ErrorKind::AddrInUse => (ErrorKind::Busy, "the address is in use"),
            std::io::ErrorKind::AddrNotAvailable => (ErrorKind::NotFound, "this machine does not have the address"),
            std::io::ErrorKind::PermissionDenied => (ErrorKind::PermissionDenied, "permission denied"),
            _ => (ErrorKind::Io, "the system refuses it"),
        };
        Error::new(kind, format!("cannot listen on {address}: {why}")).hint("use port 0 for any free port")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let stop = CancellationToken::new();
    let (connections, headers_timeout) = (options.connections, options.headers_timeout);
    let router = router(server, address, options, &stop);
    let serving = tokio::spawn(connections::serve(listener, router, connections, headers_timeout, stop.clone()));
    Ok(HttpServer { address, stop, serving: Some(serving) })
}

fn router(server: &McpServer, address: SocketAddr, options: HttpOptions, stop: &CancellationToken) -> Router {
    let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !address.ip().is_unspecified() {
        hosts.push(address.ip().to_string());
    }
    hosts.extend(options.allowed_hosts);
    let endpoint = endpoint::router(server, hosts, options.allowed_origins, options.sessions, stop);
    // As a service of its own: a router would have to be nested, and would answer below the path, too.
    let endpoint = endpoint.into_service::<axum::body::Body>();
    Router::new().route_service(PATH, endpoint).layer(from_fn_with_state(Arc::new(options.access), authenticate))
}

/// Checks the token before anything of the body is read.
async fn authenticate(State(access): State<Arc<HttpAccess>>, request: Request, next: Next) -> Response {
    match &*access {
        HttpAccess::Token(token) if !token.is_in(request.headers()) => {
            tracing::warn!("refused a request without the token");
            let text = "missing or invalid token; send the header Authorization: Bearer TOKEN\n";
            (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], text).into_response()
        }
        HttpAccess::Token(_) | HttpAccess::ThisMachine => {
            request.extensions().get::<ConnectionSlot>().into_iter().for_each(ConnectionSlot::admit);
            next.run(request).await
        }
    }
}
