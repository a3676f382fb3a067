//! Serving any number of clients over streamable HTTP.
//!
//! Three walls, each on its own: the address (loopback unless a token is wanted), the token, and the
//! names under which a browser could have been led here (`Host`, `Origin`).

mod bounds;
mod connections;
mod token;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    http::{Method, StatusCode, header::WWW_AUTHENTICATE},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse, Response},
};
use bounds::Bounds;
use connections::Seat;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
pub use token::BearerToken;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use workden::{Error, ErrorKind, Result};

use crate::{
    McpServer,
    limits::{CONNECTIONS, GOING, HEADERS_TIME, MESSAGE_BYTES, SESSION_IDLE, SESSIONS},
    server::Clients,
};

/// Where the protocol is spoken.
const PATH: &str = "/mcp";

/// How a server over HTTP is reached.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Who may use it.
    pub access: Access,
    /// Names under which clients may reach it, besides `localhost`, `127.0.0.1`, `::1` and the address
    /// itself: a host, with a port or without.
    pub allowed_hosts: Vec<String>,
    /// Pages whose scripts may use it, like `https://example.com`. None unless named: a browser says
    /// where a script comes from, and other clients say nothing.
    pub allowed_origins: Vec<String>,
    /// Connections at a time. With one more, the oldest of those goes that have not sent a request that was let
    /// in; if there is none, the new one is refused. 512 unless it is said here.
    pub connections: usize,
    /// How long a connection may take for the headers of a request, and wait for the next one. 30 seconds unless
    /// it is said here.
    pub headers_time: Duration,
    /// Sessions at a time. With one more, the one ends that was used longest ago. 256 unless it is said here.
    pub sessions: usize,
}

impl HttpOptions {
    /// For whoever this is, and otherwise as closed as can be.
    #[must_use]
    pub fn new(access: Access) -> Self {
        Self {
            access,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            connections: CONNECTIONS,
            headers_time: HEADERS_TIME,
            sessions: SESSIONS,
        }
    }
}

/// Who may use a server over HTTP.
#[derive(Clone, Debug)]
pub enum Access {
    /// Whoever has the token.
    Token(BearerToken),
    /// Every program of every user on this machine, and nobody else.
    ThisMachine,
}

/// A server over HTTP that is running. Dropping it stops it.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    stop: CancellationToken,
    serving: Option<JoinHandle<std::io::Result<()>>>,
}

impl HttpServer {
    /// Where it listens; the port is there, also when the system chose it.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client is given.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Waits until the server ends, which it does not by itself.
    ///
    /// # Errors
    ///
    /// When it can no longer listen.
    pub async fn ended(mut self) -> Result<()> {
        self.wait().await
    }

    /// Ends calls and connections, and stops listening.
    ///
    /// # Errors
    ///
    /// As [`HttpServer::ended`].
    pub async fn stop(mut self) -> Result<()> {
        self.stop.cancel();
        let ended = tokio::time::timeout(GOING, self.wait()).await;
        ended.unwrap_or_else(|_| {
            // A client that neither reads nor goes is left behind.
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
                Err(Error::new(ErrorKind::Io, format!("cannot go on listening on {}", self.address)))
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
/// `InvalidArgument` when anybody on the network could use it without a token; otherwise when the
/// address cannot be listened on.
pub async fn serve_http(server: &McpServer, address: SocketAddr, options: HttpOptions) -> Result<HttpServer> {
    if matches!(options.access, Access::ThisMachine) && !address.ip().is_loopback() {
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("cannot serve on {address} without a token: everybody on the network could use it"),
        )
        .hint("listen on 127.0.0.1, or want a token"));
    }
    let cannot = |error: std::io::Error| {
        let (kind, why) = match error.kind() {
            std::io::ErrorKind::AddrInUse => (ErrorKind::Busy, "somebody else listens there"),
            std::io::ErrorKind::AddrNotAvailable => (ErrorKind::NotFound, "this machine has no such address"),
            std::io::ErrorKind::PermissionDenied => (ErrorKind::PermissionDenied, "the system does not allow it"),
            _ => (ErrorKind::Io, "the system refuses"),
        };
        Error::new(kind, format!("cannot listen on {address}: {why}")).hint("port 0 takes any that is free")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let stop = CancellationToken::new();
    let (connections, headers_time) = (options.connections, options.headers_time);
    let router = router(server, address, options, &stop);
    let serving = tokio::spawn(connections::serve(listener, router, connections, headers_time, stop.clone()));
    Ok(HttpServer { address, stop, serving: Some(serving) })
}

fn router(server: &McpServer, address: SocketAddr, options: HttpOptions, stop: &CancellationToken) -> Router {
    let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    if !address.ip().is_unspecified() {
        hosts.push(address.ip().to_string());
    }
    hosts.extend(options.allowed_hosts);
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(options.allowed_origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(MESSAGE_BYTES)
        .with_cancellation_token(stop.clone());
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_IDLE);
    let sessions = Arc::new(sessions);
    let bounds = Bounds {
        room: server.room().clone(),
        sessions: Arc::clone(&sessions),
        most_sessions: options.sessions,
        lives: Mutex::default(),
    };
    let (server, stopped) = (server.clone(), stop.clone());
    let clone = move || Ok(server.until(stopped.clone(), Clients::Unknown));
    let service = StreamableHttpService::new(clone, sessions, config);
    Router::new()
        .route_service(PATH, service)
        .layer(from_fn(say_that_it_is_closed))
        .layer(from_fn_with_state(Arc::new(bounds), bounds::within))
        .layer(from_fn_with_state(Arc::new(options.access), let_in))
}

/// A client that closes its session is answered `202 Accepted` by the library, which the official Python client
/// takes for a failure and warns of.
async fn say_that_it_is_closed(request: Request, next: Next) -> Response {
    let closes = request.method() == Method::DELETE;
    let mut response = next.run(request).await;
    if closes && response.status() == StatusCode::ACCEPTED {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// Lets in who may come in; nothing of the body is read before that.
async fn let_in(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    match &*access {
        Access::Token(token) if !token.is_in(request.headers()) => {
            tracing::warn!("a request without the right token was refused");
            let sentence = "this server wants its token: Authorization: Bearer TOKEN\n";
            (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], sentence).into_response()
        }
        Access::Token(_) | Access::ThisMachine => {
            request.extensions().get::<Seat>().into_iter().for_each(Seat::keep);
            next.run(request).await
        }
    }
}
