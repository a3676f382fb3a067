//! `ApiError`: an error as an answer of the API: a status, and `{"error": {"kind", "message", "hint"}}`.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use utoipa::ToSchema;
use workden::{Error, ErrorKind};

use crate::operations::request_id;

/// The answer to a call that failed.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) error: Error,
}

/// The body of an answer to a call that failed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ApiErrorBody {
    error: ApiErrorDetail,
}

/// What failed, for code (`kind`) and for a reader (`message`, `hint`).
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ApiErrorDetail {
    /// The category, like `not_found`.
    #[schema(example = "not_found")]
    kind: String,
    /// What failed, in a sentence.
    message: String,
    /// What to do instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl ApiError {
    /// Returns the failure of a request that is not understood.
    pub(crate) fn invalid(sentence: impl Into<String>) -> Self {
        Error::new(ErrorKind::InvalidArgument, sentence).into()
    }

    /// Returns the failure of a call for a thing that does not exist, or that the caller may not know of.
    pub(crate) fn not_found(sentence: impl Into<String>) -> Self {
        Error::new(ErrorKind::NotFound, sentence).into()
    }

    /// Returns the failure of a call without a valid key.
    pub(crate) fn unauthenticated() -> Self {
        let error = Error::new(ErrorKind::Denied, "missing or invalid API key")
            .hint("send the header `Authorization: Bearer KEY`; `workden serve --new-key` prints a new key");
        Self { status: StatusCode::UNAUTHORIZED, error }
    }

    /// Returns the failure of a call that the role of the key does not permit.
    pub(crate) fn forbidden(sentence: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, error: Error::new(ErrorKind::Denied, sentence) }
    }

    /// Adds what to do instead.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { status: self.status, error: self.error.hint(hint) }
    }

    pub(crate) fn body(&self) -> ApiErrorBody {
        let kind = serde_json::to_value(self.error.kind()).ok();
        let kind = kind.and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_else(|| "io".to_owned());
        let (message, hint) = (self.error.sentence().to_owned(), self.error.hint_text().map(str::to_owned));
        ApiErrorBody { error: ApiErrorDetail { kind, message, hint } }
    }
}

/// Returns the status for a kind of error.
pub(crate) fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::AlreadyExists
        | ErrorKind::Conflict
        | ErrorKind::Moved
        | ErrorKind::NotEmpty
        | ErrorKind::Ambiguous
        | ErrorKind::NoMatch => StatusCode::CONFLICT,
        ErrorKind::Denied | ErrorKind::ApprovalNeeded | ErrorKind::PermissionDenied | ErrorKind::ReadOnly => {
            StatusCode::FORBIDDEN
        }
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::OutOfRange => StatusCode::RANGE_NOT_SATISFIABLE,
        ErrorKind::Busy => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Gone => StatusCode::GONE,
        ErrorKind::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        ErrorKind::Unsupported | ErrorKind::LimitNotHeld => StatusCode::NOT_IMPLEMENTED,
        ErrorKind::Io => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        Self { status: status(error.kind()), error }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if self.status.is_server_error() {
            let cause = std::error::Error::source(&self.error);
            tracing::warn!(error = %self.error, cause, request = request_id(), "call failed");
        }
        let mut response = (self.status, Json(self.body())).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_and_what_to_do() {
        let error = ApiError::not_found("session `a` not found").hint("`GET /v1/sessions` lists them");
        assert_eq!(error.status, StatusCode::NOT_FOUND);
        assert_eq!(
            serde_json::to_string(&error.body()).unwrap(),
            r#"{"error":{"kind":"not_found","message":"session `a` not found","hint":"`GET /v1/sessions` lists them"}}"#
        );
    }
}
