//! `E2bFailure`: a failed call in E2B's shape, `{"code", "message"}`, and extractors that fail so.

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Query, Request},
    http::{HeaderName, StatusCode, request::Parts},
    response::{IntoResponse, Response},
};
use serde::de::DeserializeOwned;
use serde_json::json;
use workden::Error;

use crate::api_error::ApiError;

/// Says whether a client may try the same call again.
pub(super) const SHOULD_RETRY: HeaderName = HeaderName::from_static("should-retry");

/// The answer to a call that failed.
#[derive(Debug)]
pub(super) struct E2bFailure {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl E2bFailure {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// Returns the failure of a request that is not understood.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// Returns the failure of a call that this service does not have.
    pub(super) fn not_offered(what: &str) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, format!("{what} is not supported by this service"))
    }

    /// Returns the failure of a call to a sandbox that does not run. Clients look for the words `was not found`.
    pub(super) fn gone(sandbox: &str) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, format!("The sandbox {} was not found", sandbox.escape_debug()))
    }

    /// Returns the failure of a call to a port. Clients look for the words `port is not open`.
    pub(super) fn closed(port: u16) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, format!("The sandbox is running but port is not open: {port}"))
    }
}

impl From<ApiError> for E2bFailure {
    fn from(error: ApiError) -> Self {
        if error.status.is_server_error() {
            let cause = std::error::Error::source(&error.error);
            tracing::warn!(error = %error.error, cause, "call failed");
        }
        Self { status: error.status, message: error.error.to_string() }
    }
}

impl From<Error> for E2bFailure {
    fn from(error: Error) -> Self {
        ApiError::from(error).into()
    }
}

impl IntoResponse for E2bFailure {
    fn into_response(self) -> Response {
        let body = Json(json!({ "code": self.status.as_u16(), "message": self.message }));
        match self.status {
            // What is gone does not come back, and clients would try three times.
            StatusCode::BAD_GATEWAY => (self.status, [(SHOULD_RETRY, "false")], body).into_response(),
            _ => (self.status, body).into_response(),
        }
    }
}

/// A body of JSON; an empty one is `{}`.
pub(super) struct E2bBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for E2bBody<T> {
    type Rejection = E2bFailure;

    async fn from_request(request: Request, state: &S) -> Result<Self, E2bFailure> {
        let bytes = Bytes::from_request(request, state).await;
        let bytes = bytes.map_err(|error| E2bFailure::new(error.status(), error.body_text()))?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        let parsed = serde_json::from_slice(text).map(Self);
        parsed.map_err(|error| E2bFailure::invalid(format!("invalid request body: {error}")))
    }
}

/// The query of a URL.
pub(super) struct E2bQuery<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for E2bQuery<T> {
    type Rejection = E2bFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, E2bFailure> {
        let query = Query::from_request_parts(parts, state).await;
        query.map(|Query(query)| Self(query)).map_err(|error| E2bFailure::invalid(error.body_text()))
    }
}
