//! The errors that the wire itself has, and which status each kind travels with.
//!
//! The status is for tools that know HTTP and nothing of workden; what counts is the error in the
//! body, which comes out as it went in.

use http::StatusCode;
use workden_core::{Error, ErrorKind};

/// The connection is no more.
pub(crate) fn gone() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox is gone")
        .hint("it was stopped, or its connection broke; start a new sandbox and do again what is missing")
}

/// The other side says something that is not of this protocol.
pub(crate) fn not_understood(what: &str) -> Error {
    Error::new(ErrorKind::Io, format!("the sandbox answered {what}"))
        .hint("the program at the other end may be of another version")
}

/// The status that an error travels with.
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
