//! The errors of the wire itself, and the HTTP status for each kind of error.
//!
//! The status is for tools that know only HTTP; clients use the error in the body, which arrives unchanged.

use std::fmt;

use http::StatusCode;
use workden_core::{Error, ErrorKind};

/// The source of every error about a lost connection, which distinguishes it from an answer of the other side.
#[derive(Debug)]
pub(crate) struct ConnectionLost(Option<Box<dyn std::error::Error + Send + Sync>>);

impl fmt::Display for ConnectionLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection to the sandbox is lost")
    }
}

impl std::error::Error for ConnectionLost {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.as_deref().map(|cause| cause as _)
    }
}

/// Returns the error for a lost connection.
pub(crate) fn gone() -> Error {
    lost(ConnectionLost(None))
}

/// Returns the error for a connection that was lost for this reason.
pub(crate) fn gone_because(cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    tracing::debug!(error = &cause as &dyn std::error::Error, "connection to the sandbox lost");
    lost(ConnectionLost(Some(Box::new(cause))))
}

fn lost(cause: ConnectionLost) -> Error {
    Error::new(ErrorKind::Gone, "the sandbox is gone")
        .hint("it was stopped, or its connection broke; start a new sandbox and repeat what is missing")
        .with_source(cause)
}

/// Whether an error is about a lost connection.
pub(crate) fn is_lost(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.is::<ConnectionLost>())
}

/// Returns the error for an answer that is not part of the protocol.
pub(crate) fn not_understood(what: &str) -> Error {
    Error::new(ErrorKind::Io, format!("the sandbox answered {what}"))
        .hint("the program at the other end may be of another version")
}

/// Returns the HTTP status for an error.
pub(crate) fn status(kind: ErrorKind) -> StatusCode {
    use ErrorKind as Kind;
    match kind {
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::AlreadyExists
        | Kind::IsDirectory
        | Kind::NotDirectory
        | Kind::NotEmpty
        | Kind::NotRegular
        | Kind::Conflict
        | Kind::Moved
        | Kind::NoMatch
        | Kind::Ambiguous => StatusCode::CONFLICT,
        Kind::Escapes
        | Kind::LinkLoop
        | Kind::InvalidPath
        | Kind::InvalidPattern
        | Kind::InvalidArgument
        | Kind::NotText
        | Kind::OutOfRange => StatusCode::BAD_REQUEST,
        Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Kind::ReadOnly | Kind::PermissionDenied | Kind::Denied | Kind::ApprovalNeeded => StatusCode::FORBIDDEN,
        Kind::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        Kind::Busy | Kind::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
        Kind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        Kind::Gone => StatusCode::GONE,
        Kind::Unsupported | Kind::LimitNotHeld => StatusCode::NOT_IMPLEMENTED,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
