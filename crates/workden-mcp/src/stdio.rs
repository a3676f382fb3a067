//! Serving one client over a pair of streams.

use rmcp::{
    ServiceExt,
    service::{QuitReason, ServerInitializeError},
    transport::stdio_pipes,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use workden::{Error, ErrorKind, Result};

use crate::{McpServer, first_request::FromFirstRequest, lines::Lines, server::Clients};

/// Serves the client at the other end of standard input and output, until it closes its end. Nothing
/// else may write to standard output.
///
/// On Linux, pipes are read and written on the thread of the runtime, so that a runtime of one thread
/// is enough and starts fastest.
///
/// # Errors
///
/// When the client and the server cannot agree on how to begin.
pub async fn serve_stdio(server: &McpServer) -> Result<()> {
    let (input, output) = stdio_pipes();
    serve_streams(server, input, output).await
}

/// Serves the client at the other end of two streams, until it closes its end. Calls that are being
/// made then have half a second to end by themselves; what runs after that is ended.
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
    let server = server.until(gone.clone(), Clients::One);
    let transport = Lines::new(input, output, server.room().clone(), gone);
    let running = match server.serve(FromFirstRequest::new(transport)).await {
        Ok(running) => running,
        // A client that goes before it began is no failure.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            tracing::error!(%error, "the client did not begin as it should");
            return Err(Error::new(ErrorKind::Io, "the client did not begin as the protocol says"));
        }
    };
    match running.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        ended => {
            tracing::error!(?ended, "the server ended in an unexpected way");
            Err(Error::new(ErrorKind::Io, "the server ended in an unexpected way"))
        }
    }
}
