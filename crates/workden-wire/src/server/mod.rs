//! The routes over any sandbox, and the connection that serves them.
//!
//! Invariant: a call whose client stopped waiting is dropped. HTTP/2 tells a server when a client
//! gave up a call, or the connection broke; then the future of the call goes, and with it, by the
//! contract of [`Sandbox`], whatever it started.

mod answer;
mod content;
mod files;
mod gathering;
mod input;
mod processes;
mod sandbox;
mod token;
mod trees;

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

/// How a sandbox is served.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    token: Option<TokenHash>,
    heartbeat: Option<Duration>,
    on_admission: Option<OnAdmission>,
}

impl ServeOptions {
    /// Serves only who knows the token.
    #[must_use]
    pub fn token(mut self, token: TokenHash) -> Self {
        self.token = Some(token);
        self
    }

    /// Ends the connection of a client that is silent for so long, and does not answer when it is asked
    /// whether it is there, for as long again. Not every stream says that it has ended.
    #[must_use]
    pub fn heartbeat(mut self, time: Duration) -> Self {
        self.heartbeat = Some(time);
        self
    }

    /// Does this when the first call is let in, and then never again: once a connection with [`serve`], once a
    /// router with [`router`]. Only from then on it is known that a client may be here. It must not block.
    #[must_use]
    pub fn on_admission(mut self, then: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_admission = Some(OnAdmission::new(then));
        self
    }
}

/// What every route has at hand.
struct Served {
    sandbox: Arc<dyn Sandbox>,
    processes: Arc<Processes>,
    gathering: Gathering,
}

type Shared = Arc<Served>;

/// The routes over a sandbox, for programs with a server of their own. The processes that are started
/// through a router can be talked to through the same.
pub fn router(sandbox: Arc<dyn Sandbox>, options: ServeOptions) -> Router {
    let served: Shared = Arc::new(Served { sandbox, processes: Arc::default(), gathering: Gathering::default() });
    let routes = Router::new()
        .merge(files::routes())
        .merge(content::routes())
        .merge(sandbox::routes())
        .merge(processes::routes())
        .merge(input::routes())
        .merge(trees::routes())
        .fallback(answer::unknown_call)
        .method_not_allowed_fallback(answer::wrong_method)
        .with_state(served);
    token::guard(routes, options.token, options.on_admission)
}

/// Serves a sandbox on a byte stream; returns when the stream ends. HTTP/2 is spoken right away.
///
/// It runs on the current runtime, one task a call.
///
/// # Errors
///
/// `Io` when the other side does not speak the protocol. A client that is suddenly gone is an end
/// like any other.
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
        // A client may give up as many calls as it likes, and as fast.
        .max_pending_accept_reset_streams(limits::OPEN_CALLS as usize)
        .serve_connection(TokioIo::new(stream), service)
        .await
        .or_else(|error| {
            tracing::debug!(error = &error as &dyn std::error::Error, "connection of a client ended");
            if is_end_of_stream(&error) { Ok(()) } else { Err(not_the_protocol().with_source(error)) }
        })
}

/// Whether the stream failed, and not what was said on it.
fn is_end_of_stream(error: &hyper::Error) -> bool {
    let mut causes = std::iter::successors(Some(error as &(dyn std::error::Error + 'static)), |error| error.source());
    causes.any(|error| error.is::<std::io::Error>() || error.downcast_ref().is_some_and(h2::Error::is_io))
}

fn not_the_protocol() -> Error {
    Error::new(ErrorKind::Io, "a client of the sandbox does not speak its protocol")
}
