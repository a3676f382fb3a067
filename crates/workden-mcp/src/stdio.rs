//! Serving one client over a pair of streams.

use std::sync::atomic::Ordering;

use rmcp::{
    ServiceExt,
    service::{QuitReason, ServerInitializeError},
    transport::stdio_pipes,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use workden::{Error, ErrorKind, Result};

use crate::{McpServer, line_transport::LineTransport, server::Clients};

/// Serves the client on standard input and output until it closes its end. Nothing else may write to standard
/// output.
///
/// On Linux, pipes are read and written on the thread of the runtime, so that a runtime of one thread is enough and
/// starts fastest.
///
/// # Errors
///
/// When the client does not start a session as the protocol requires, or sends something else than JSON-RPC.
pub async fn serve_stdio(server: &McpServer) -> Result<()> {
    let (input, output) = stdio_pipes();
    serve_streams(server, input, output).await
}

/// Serves the client at the other end of two streams until it closes its end. Calls that run then are
/// cancelled after [`McpServer::drain_time`].
///
/// # Errors
///
/// As [`serve_stdio`].
pub async fn serve_streams(
    server: &McpServer,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<()> {
    let gone = CancellationToken::new();
    let server = server.for_client(gone.clone(), Clients::One);
    let transport = LineTransport::new(input, output, server.quota().clone(), gone, server.drain_time);
    let met_garbage = transport.met_garbage();
    let running = match server.serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) if met_garbage.load(Ordering::Relaxed) => {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "the input was not JSON-RPC: no line of it was a request",
            )
            .hint("an MCP client starts this server and sends it requests, one a line"));
        }
        // A client may close its end before it starts a session.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            tracing::error!(%error, "the client did not start a session");
            return Err(Error::new(ErrorKind::Io, "the client did not start a session as the protocol requires"));
        }
    };
    match running.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        ended => {
            tracing::error!(?ended, "the server ended unexpectedly");
            Err(Error::new(ErrorKind::Io, "the server ended unexpectedly"))
        }
    }
}
