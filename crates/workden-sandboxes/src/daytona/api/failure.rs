//! `Failure`: a call that did not succeed, and how far it got, which decides whether it may be repeated.

use http::StatusCode;
use workden_core::{Error, ErrorKind};

use super::key::ApiKey;

/// A call that did not succeed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) error: Error,
    pub(crate) progress: Progress,
}

/// How far a call got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There was no connection: it had no effect.
    NoConnection,
    /// It was sent, at least in part, and no byte of an answer came.
    NoAnswer,
    /// An answer came in part, or in full and was not understood; or the time was over.
    PartOfAnswer,
    /// This status came.
    Answer(u16),
}

impl Failure {
    /// Whether the answer has this status.
    pub(crate) fn is(&self, status: u16) -> bool {
        self.progress == Progress::Answer(status)
    }

    /// Whether the service certainly did nothing: it refused the call, or never got it.
    pub(crate) fn had_no_effect(&self) -> bool {
        match self.progress {
            Progress::NoConnection => true,
            Progress::Answer(status) => (400..500).contains(&status) && status != 408,
            Progress::NoAnswer | Progress::PartOfAnswer => false,
        }
    }
}

impl From<Error> for Failure {
    /// The service may have done anything.
    fn from(error: Error) -> Self {
        Self { error, progress: Progress::PartOfAnswer }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}

/// Returns the failure of a status other than success; `what` is what workden tried, such as "create a sandbox".
pub(super) fn refused(key: &ApiKey, what: &str, status: StatusCode, body: &[u8]) -> Failure {
    let said = key.shown(&message(body));
    let code = status.as_u16();
    let said = if said.is_empty() {
        format!("Daytona answered HTTP {code}")
    } else {
        format!("Daytona answered HTTP {code}: {said}")
    };
    let sentence = format!("cannot {what}: {said}");
    let kind = match code {
        401 | 403 => ErrorKind::PermissionDenied,
        402 => ErrorKind::LimitNotHeld,
        404 => ErrorKind::NotFound,
        408 | 504 => ErrorKind::TimedOut,
        409 => ErrorKind::Conflict,
        400 | 422 => ErrorKind::InvalidArgument,
        405 | 501 => ErrorKind::Unsupported,
        410 => ErrorKind::Gone,
        413 => ErrorKind::TooLarge,
        429 | 503 => ErrorKind::Busy,
        502 => ErrorKind::Unreachable,
        _ => ErrorKind::Io,
    };
    let error = Error::new(kind, sentence);
    let error = match code {
        401 => error.hint("check the API key: it may be wrong, expired, or of another organisation"),
        403 => error.hint("the API key lacks a permission, or the organisation is suspended or over a limit"),
        429 | 503 => error.hint("try again later"),
        300..=399 => error.hint("check the API URL: it must be the address of the API itself"),
        _ => error,
    };
    Failure { error, progress: Progress::Answer(code) }
}

/// Returns what an error of the service says: the text under the usual names, or the whole text.
fn message(body: &[u8]) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let named = parsed.as_ref().and_then(|value| {
        let texts = ["message", "error", "errors"].iter().filter_map(|name| value.get(name));
        texts.map(text_of).find(|text| !text.is_empty())
    });
    named.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned())
}

fn text_of(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(all) => all.iter().map(text_of).collect::<Vec<_>>().join("; "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_is_quoted_without_the_key() {
        let key = ApiKey::new("dtn_secret").unwrap();
        let body = br#"{"statusCode":400,"message":["name must be short","dtn_secret is bad"]}"#;
        let failure = refused(&key, "create a sandbox", StatusCode::BAD_REQUEST, body);
        let sentence = "cannot create a sandbox: Daytona answered HTTP 400: name must be short; [key] is bad";
        assert_eq!((failure.error.kind(), failure.error.sentence()), (ErrorKind::InvalidArgument, sentence));
        assert!(failure.had_no_effect() && failure.is(400));
        let failure = refused(&key, "x", StatusCode::INTERNAL_SERVER_ERROR, b"<html>dtn_secret</html>");
        assert!(!failure.had_no_effect() && failure.error.sentence().ends_with("<html>[key]</html>"));
    }
}
