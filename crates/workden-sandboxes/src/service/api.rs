//! `ServiceApi`: the few calls to the service that open, find and end a session.
//!
//! Invariant: the key goes to the host of the URL and nowhere else, and no answer takes more memory or time than its
//! limit. An answer is hostile input: an id in it becomes a part of a path only if it has the form of one.

use std::{collections::BTreeMap, fmt, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result};
use workden_wire::{MessageStream, websocket_request};

use crate::{
    SessionId,
    dial::{Dialer, NetStream},
};

/// How long a call may take: a session may have to start a container.
const CALL_TIME: Duration = Duration::from_secs(180);
/// Bytes of an answer.
const ANSWER_BYTES: usize = 1 << 20;
/// Characters of an error that is shown.
const ERROR_CHARACTERS: usize = 4_000;

/// A request for a session.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct SessionRequest {
    pub(super) name: String,
    pub(super) if_exists: IfSessionExists,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) runtime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) network: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpus: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pids: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) directory: Option<String>,
    pub(super) env: BTreeMap<String, String>,
}

/// What happens if a session of the name exists.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum IfSessionExists {
    /// It is used.
    #[default]
    Attach,
}

/// A session, as far as a client needs it.
#[derive(Debug, Deserialize)]
struct KnownSession {
    id: String,
    state: String,
}

/// An error of the service.
#[derive(Debug, Deserialize)]
struct Refused {
    error: RefusedDetail,
}

#[derive(Debug, Deserialize)]
struct RefusedDetail {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
}

/// The service at a URL.
#[derive(Clone)]
pub(super) struct ServiceApi {
    /// Without a slash at its end.
    url: String,
    authorization: Option<HeaderValue>,
    dialer: Dialer,
}

impl fmt::Debug for ServiceApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceApi({})", self.url)
    }
}

impl ServiceApi {
    pub(super) fn new(url: &str, key: Option<&str>) -> Result<Self> {
        let trimmed = url.trim_end_matches('/');
        let parsed = trimmed.parse::<Uri>().ok();
        let is_valid = parsed.is_some_and(|uri| {
            let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
            is_http && uri.query().is_none() && uri.authority().is_some_and(|host| !host.as_str().contains('@'))
        });
        if !is_valid {
            let sentence = format!("invalid URL of a service `{}`", url.escape_debug());
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("write it like http://127.0.0.1:8420"));
        }
        let authorization = key.map(authorization).transpose()?;
        Ok(Self { url: trimmed.to_owned(), authorization, dialer: Dialer::default() })
    }

    /// Creates the session, or finds the one of that name. Returns its id.
    pub(super) async fn open(&self, request: &SessionRequest) -> Result<String> {
        let body = serde_json::to_vec(request)
            .map_err(|error| Error::new(ErrorKind::InvalidArgument, "invalid request").with_source(error))?;
        let session: KnownSession = self.json(Method::POST, "/v1/sessions", body.into()).await?;
        session.id.parse::<SessionId>().map_err(|_| strange("it names an invalid session"))?;
        Ok(session.id)
    }

    /// Returns the state of a session.
    pub(super) async fn state(&self, id: &str) -> Result<String> {
        match self.json::<KnownSession>(Method::GET, &format!("/v1/sessions/{id}"), Bytes::new()).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(ended()),
            known => Ok(known?.state),
        }
    }

    /// Deletes a session. One that has ended is not an error.
    pub(super) async fn delete(&self, id: &str) -> Result<()> {
        match self.call(Method::DELETE, &format!("/v1/sessions/{id}"), Bytes::new()).await {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Gone) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Opens the wire of a session.
    pub(super) async fn wire(&self, id: &str) -> Result<MessageStream<Box<dyn NetStream>>> {
        let address = self.address(&self.url.replacen("http", "ws", 1), &format!("/v1/sessions/{id}/wire"))?;
        let mut request = websocket_request(&address).map_err(unreachable)?;
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        let connect = async {
            let stream = self.dialer.dial(&address).await.map_err(unreachable)?;
            MessageStream::connect(request, stream).await.map_err(|refused| match refused {
                Ok(answer) => refused_wire(answer.status()),
                Err(error) => unreachable(error),
            })
        };
        timeout(CALL_TIME, connect).await.unwrap_or_else(|_| Err(late()))
    }

    pub(super) async fn json<A: for<'a> Deserialize<'a>>(&self, method: Method, path: &str, body: Bytes) -> Result<A> {
        let answer = self.call(method, path, body).await?;
        serde_json::from_slice(&answer).map_err(|error| strange("it is not valid JSON").with_source(error))
    }

    /// Makes a call, and returns the body of its answer.
    pub(super) async fn call(&self, method: Method, path: &str, body: Bytes) -> Result<Bytes> {
        let address = self.address(&self.url, path)?;
        timeout(CALL_TIME, self.send(method, &address, body)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn send(&self, method: Method, address: &Uri, body: Bytes) -> Result<Bytes> {
        let target = address.path_and_query().map_or("/", |path| path.as_str());
        let host = address.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let mut request = Request::builder()
            .method(method)
            .uri(target)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| strange("its address is invalid").with_source(error))?;
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        let stream = self.dialer.dial(address).await.map_err(unreachable)?;
        let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(unreachable)?;
        // It ends with the call.
        let connection = tokio::spawn(connection);
        let answered = async {
            let (head, body) = requests.send_request(request).await.map_err(unreachable)?.into_parts();
            let body = Limited::new(body, ANSWER_BYTES).collect().await;
            Ok((head.status, body.map_err(|_| strange("it was cut off, or is too large"))?.to_bytes()))
        };
        let answered: Result<_> = answered.await;
        connection.abort();
        match answered? {
            (status, body) if status.is_success() => Ok(body),
            (status, body) => Err(refusal(status, &body)),
        }
    }

    fn address(&self, base: &str, path: &str) -> Result<Uri> {
        format!("{base}{path}").parse().map_err(|error| strange("its address is invalid").with_source(error))
    }
}

fn authorization(key: &str) -> Result<HeaderValue> {
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
    let value = is_key.then(|| HeaderValue::from_str(&format!("Bearer {key}")).ok()).flatten();
    let mut value = value.ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, "invalid key of the service: it is empty or has an invalid character")
            .hint("use the key that `workden serve` printed")
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Returns the error that the service sent.
fn refusal(status: StatusCode, body: &[u8]) -> Error {
    match serde_json::from_slice::<Refused>(body) {
        Ok(Refused { error: RefusedDetail { kind, message, hint } }) => {
            let error = Error::new(kind, message);
            hint.map_or(error.clone(), |hint| error.clone().hint(hint)).escaped(ERROR_CHARACTERS)
        }
        Err(_) => refused_wire(status),
    }
}

/// Returns the error for a status alone.
fn refused_wire(status: StatusCode) -> Error {
    match status {
        StatusCode::UNAUTHORIZED => Error::new(ErrorKind::PermissionDenied, "the service refuses the key")
            .hint("use the key that `workden serve` printed"),
        StatusCode::NOT_FOUND | StatusCode::GONE => ended(),
        StatusCode::CONFLICT => Error::new(ErrorKind::Busy, "the session is paused").hint("resume it at the service"),
        status => {
            let sentence = format!("the service answered with status {}", status.as_u16());
            Error::new(ErrorKind::Unreachable, sentence).hint("check the URL, and the log of the service")
        }
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Gone, "the session has ended")
}

fn late() -> Error {
    let sentence = format!("the service did not answer within {} s", CALL_TIME.as_secs());
    Error::new(ErrorKind::TimedOut, sentence)
}

fn strange(why: &str) -> Error {
    Error::new(ErrorKind::Unreachable, format!("the answer of the service is invalid: {why}"))
        .hint("check that the URL is that of `workden serve`")
}

fn unreachable(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Unreachable, "the service cannot be reached")
        .hint("check the URL, and that `workden serve` runs there")
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_http_is_a_service() {
        for url in ["http://a", "https://a:8420/", "http://[::1]:9/below"] {
            assert!(ServiceApi::new(url, None).is_ok(), "{url}");
        }
        for url in ["", "a", "/v1", "ftp://a", "http://", "http://key@a", "http://a/?b=c"] {
            let error = ServiceApi::new(url, None).unwrap_err();
            assert!(error.sentence().starts_with("invalid URL of a service"), "{url}: {error}");
        }
    }

    #[test]
    fn the_key_is_shown_nowhere() {
        let api = ServiceApi::new("http://a/", Some("e2b_01")).unwrap();
        assert_eq!(format!("{api:?}"), "ServiceApi(http://a)");
        for key in ["", "a b", "a\n"] {
            let error = ServiceApi::new("http://a", Some(key)).unwrap_err();
            assert!(error.sentence().starts_with("invalid key"), "{key:?}");
        }
    }

    #[test]
    fn a_refusal_keeps_its_kind_and_controls_no_terminal() {
        let body = br#"{"error":{"kind":"denied","message":"no\u001b[2J","hint":"ask"}}"#;
        let error = refusal(StatusCode::FORBIDDEN, body);
        assert_eq!((error.kind(), error.hint_text()), (ErrorKind::Denied, Some("ask")));
        assert!(!error.sentence().contains('\u{1b}'), "{error}");
        for (status, kind) in
            [(401, ErrorKind::PermissionDenied), (404, ErrorKind::Gone), (500, ErrorKind::Unreachable)]
        {
            assert_eq!(refusal(StatusCode::from_u16(status).unwrap(), b"<html>").kind(), kind, "{status}");
        }
    }
}
