//! `RemoteSandbox`: a sandbox at the other end of a byte stream.
//!
//! Invariant: every method but `directory` is a call to the other side, and returns the answer of the sandbox there;
//! errors keep their kind, sentence, hint and refusal. Only a lost connection has its own error: `Gone`, for calls in
//! progress and for later ones. An answer is hostile input: it has a type, a limit of bytes and of time for each call,
//! and its sentences are escaped, because commands may have taken the place of a keeper.

mod connection;
mod files;
mod ports;
mod process;
mod sandbox;
mod trees;
mod watching;

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};
use workden_core::{Error, ErrorKind, Result, VirtualPath, sandbox::Isolation};

use self::connection::Connection;
pub use self::trees::TreeDownload;
use crate::{calls::HelloAnswer, errors};

/// A sandbox at the other end of a byte stream. Clones share the connection, which ends with the last clone.
#[derive(Clone)]
pub struct RemoteSandbox {
    connection: Connection,
    hello: std::sync::Arc<HelloAnswer>,
}

impl RemoteSandbox {
    /// Connects to the server at the other end of a stream, and checks that it speaks the same version. The connection
    /// is a task of the current runtime.
    ///
    /// # Errors
    ///
    /// Returns `Unsupported` if the other side speaks another version, `PermissionDenied` if the token is wrong or
    /// missing, and `Gone` if the other side does not answer.
    pub async fn connect<S>(stream: S, token: Option<&str>) -> Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let connection = Connection::open(stream, token).await?;
        let hello = connection.greet().await?;
        Ok(Self { connection, hello: std::sync::Arc::new(hello) })
    }

    /// Returns the working directory of commands at the time of the connection.
    #[must_use]
    pub fn directory_at_start(&self) -> &VirtualPath {
        &self.hello.directory
    }

    /// Returns the isolation of commands at the time of the connection.
    #[must_use]
    pub fn isolation_at_start(&self) -> &Isolation {
        &self.hello.isolation
    }

    /// Whether the connection has ended.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.connection.is_closed()
    }

    /// Whether a call failed because the connection is lost; if so, [`is_gone`](Self::is_gone) is true when this
    /// returns. A waiting caller gets the error before the connection itself has ended.
    pub async fn was_lost(&self, error: &Error) -> bool {
        if error.kind() != ErrorKind::Gone {
            return false;
        }
        if errors::is_lost(error) {
            self.connection.ends().await;
        }
        self.is_gone()
    }
}

impl fmt::Debug for RemoteSandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_gone() { "RemoteSandbox(gone)" } else { "RemoteSandbox" })
    }
}
