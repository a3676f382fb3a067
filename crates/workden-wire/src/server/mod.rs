//! The routes over any sandbox, and the connection that serves them.
//!
//! Invariant: a call whose client stopped waiting is dropped. HTTP/2 tells a server when a client gives up a call or
//! the connection breaks; then the future of the call is dropped and, by the contract of [`Sandbox`], everything that
//! it started is stopped.

mod answer;
mod content;
mod files;
mod gathering;
mod input;
mod ports;
mod processes;
mod sandbox;
mod token;
mod trees;
mod watching;

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;
use workden_core::{Error, ErrorKind, Result, Sandbox};

pub use self::token::TokenHash;
use self::{gathering::Gathering, processes::Processes, token::OnAdmission};
use crate::limits;

/// Options for serving a sandbox.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    token: Option<TokenHash>,
    heartbeat: Option<Duration>,
    on_admission: Option<OnAdmission>,
}

impl ServeOptions {
    /// Serves only clients with this token.
    #[must_use]
    pub fn token(mut self, token: TokenHash) -> Self {
        self.token = Some(token);
        self
    }

    /// Ends the connection of a client that sends nothing for `time` and then does not answer a ping for as long again.
    /// Not every stream reports its end.
    #[must_use]
    pub fn heartbeat(mut self, time: Duration) -> Self {
        self.heartbeat = Some(time);
        self
    }

    /// Calls `then` when the first call is admitted, and never again: once per connection with [`serve`], once per
    /// router with [`router`]. Before the first admitted call, the other side may not be a legitimate client. `then`
    /// must not block.
    #[must_use]
    pub fn on_admission(mut self, then: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_admission = Some(OnAdmission::new(then));
        self
    }
}

/// The state shared by all routes.
struct Served {
    sandbox: Arc<dyn Sandbox>,
    processes: Arc<Processes>,
    gathering: Gathering,
}

type Shared = Arc<Served>;

/// Returns the routes over a sandbox, for programs with their own server. Processes started through a router can only
/// be controlled through the same router.
pub fn router(sandbox: Arc<dyn Sandbox>, options: ServeOptions) -> Router {
    let served: Shared = Arc::new(Served { sandbox, processes: Arc::default(), gathering: Gathering::default() });
    let routes = Router::new()
        .merge(files::routes())
        .merge(content::routes())
        .merge(sandbox::routes())
        .merge(processes::routes())
        .merge(input::routes())
        .merge(ports::routes())
        .merge(trees::routes())
        .merge(watching::routes())
        .fallback(answer::unknown_call)
        .method_not_allowed_fallback(answer::wrong_method)
        .with_state(served);
    token::guard(routes, options.token, options.on_admission)
}

/// Serves a sandbox on a byte stream, with HTTP/2 from the first byte; returns when the stream ends.
///
/// The server runs on the current runtime, with one task per call.
///
/// # Errors
///
/// Returns `Io` if the other side does not speak the protocol. A client that disconnects is not an error.
pub async fn serve<S>(sandbox: Arc<dyn Sandbox>, stream: S, options: ServeOptions) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let heartbeat = options.heartbeat;
    let router = router(sandbox, options);
    let service = hyper::service::service_fn(move |request: http::Request<hyper::body::Incoming>| {
        router.clone().call(request.map(Body::new))
    });
    let mut server = http2::Builder::new(TokioExecutor::new());
    if let Some(time) = heartbeat {
        server.timer(TokioTimer::new()).keep_alive_interval(time).keep_alive_timeout(time);
    }
    server
        .auto_date_header(false)
        .initial_stream_window_size(limits::SERVER_WINDOW)
        .initial_connection_window_size(limits::CONNECTION_WINDOW)
        .max_concurrent_streams(limits::OPEN_CALLS)
        .max_frame_size(limits::FRAME_BYTES)
        .max_header_list_size(limits::HEADER_BYTES)
        .max_send_buf_size(limits::CLIENT_WINDOW as usize)
        // A client may abort any number of calls, at any rate.
        .max_pending_accept_reset_streams(limits::OPEN_CALLS as usize)
        .serve_connection(TokioIo::new(stream), service)
        .await
        .or_else(|error| {
            tracing::debug!(error = &error as &dyn std::error::Error, "connection of a client ended");
            if is_end_of_stream(&error) { Ok(()) } else { Err(not_the_protocol().with_source(error)) }
        })
}

/// Whether the stream itself failed, rather than the protocol on it.
fn is_end_of_stream(error: &hyper::Error) -> bool {
    let mut causes = std::iter::successors(Some(error as &(dyn std::error::Error + 'static)), |error| error.source());
    causes.any(|error| error.is::<std::io::Error>() || error.downcast_ref().is_some_and(h2::Error::is_io))
}

fn not_the_protocol() -> Error {
    Error::new(ErrorKind::Io, "a client of the sandbox does not speak its protocol")
}
