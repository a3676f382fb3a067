//! Answers: bodies, JSON, and errors in the shape that both of Daytona's services use.

use std::{io, time::SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use serde::Serialize;
use serde_json::json;
use workden_core::Timestamp;

/// The body of an answer. An error in it cuts the connection.
pub(crate) type Body = UnsyncBoxBody<Bytes, io::Error>;
pub(crate) type Answer = Response<Body>;
pub(crate) type Answered = Result<Answer, Refused>;

/// An error answer, without the parts that depend on the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// What the toolbox calls the error, if it has a name.
    pub(crate) code: Option<&'static str>,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    pub(crate) fn code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Returns the answer to a request for this path.
    pub(crate) fn answer(&self, method: &str, path: &str) -> Answer {
        let mut answer = json_answer(self.status, &self.body(method, path));
        *answer.status_mut() = self.status;
        answer
    }

    pub(crate) fn body(&self, method: &str, path: &str) -> serde_json::Value {
        let mut body = json!({
            "statusCode": self.status.as_u16(),
            "message": self.message,
            "error": self.status.canonical_reason().unwrap_or("Error"),
            "timestamp": now(),
            "path": path,
            "method": method,
        });
        if let Some(code) = self.code {
            body["code"] = code.into();
        }
        body
    }
}

/// An error of the sandbox itself is an error of the server.
impl From<workden_core::Error> for Refused {
    fn from(error: workden_core::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

/// Returns the current time in ISO 8601.
pub(crate) fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_nanos(i128::try_from(since.as_nanos()).unwrap_or_default()).to_string()
}

pub(crate) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

pub(crate) fn json_answer(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_vec(value).unwrap_or_default();
    bytes_answer(status, "application/json; charset=utf-8", text)
}

pub(crate) fn ok(value: &impl Serialize) -> Answered {
    Ok(json_answer(StatusCode::OK, value))
}

pub(crate) fn empty(status: StatusCode) -> Answered {
    let mut answer = Response::new(full(Bytes::new()));
    *answer.status_mut() = status;
    Ok(answer)
}

pub(crate) fn bytes_answer(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(full(bytes));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
