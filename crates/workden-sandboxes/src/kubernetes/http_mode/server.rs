//! `Server`: calls to the server in a pod.
//!
//! Invariant: no call takes longer than its deadline, or more memory than its limit, whatever the server sends.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_util::{
    client::legacy::{Client as HttpClient, Error as HttpError, connect::Connect},
    rt::TokioExecutor,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result};

use super::{super::errors, connector::PodConnector};

/// The header of the token.
const TOKEN: &str = "x-sandbox-token";
/// How long the server may take to say that it is ready.
const HEALTH_TIME: Duration = Duration::from_secs(5);
/// How long a connection is kept without a call: servers close theirs after 5 s or more.
const IDLE_TIME: Duration = Duration::from_secs(2);
/// Bytes of an answer whose content is of no interest, or of an error.
const SMALL: usize = 64 * 1024;

/// The limits of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallLimits {
    pub(super) time: Duration,
    /// Bytes of the answer.
    pub(super) bytes: usize,
}

impl CallLimits {
    /// For a call about files.
    pub(super) const FILES: Self = Self { time: Duration::from_secs(60), bytes: 64 * 1024 * 1024 };
}

/// The server in a pod.
#[derive(Clone, Debug)]
pub(super) struct Server<C = PodConnector> {
    http: HttpClient<C, Full<Bytes>>,
    authority: String,
    token: HeaderValue,
}

impl Server {
    /// Returns the server in a pod.
    pub(super) fn in_pod(connector: PodConnector, token: &str) -> Result<Self> {
        let authority = format!("{}:{}", connector.pod, connector.port);
        Self::at(authority, connector, token)
    }
}

impl<C: Connect + Clone + Send + Sync + 'static> Server<C> {
    /// Returns the server at the end of this connector.
    pub(super) fn at(authority: String, connector: C, token: &str) -> Result<Self> {
        let mut token = HeaderValue::from_str(token).map_err(|_| {
            Error::new(ErrorKind::InvalidArgument, "invalid token of the HTTP mode").hint("use letters and digits")
        })?;
        token.set_sensitive(true);
        let http = HttpClient::builder(TokioExecutor::new()).pool_idle_timeout(IDLE_TIME).build(connector);
        Ok(Self { http, authority, token })
    }

    /// Checks that the server is ready.
    pub(super) async fn health(&self) -> Result<()> {
        let limits = CallLimits { time: HEALTH_TIME, bytes: SMALL };
        self.call(Method::GET, "/health", Bytes::new(), limits).await.map(drop)
    }

    /// Makes a call whose answer is of no interest.
    pub(super) async fn tell<Q: Serialize>(&self, route: &str, question: &Q) -> Result<()> {
        let limits = CallLimits { bytes: SMALL, ..CallLimits::FILES };
        self.call(Method::POST, route, json(question)?, limits).await.map(drop)
    }

    /// Makes a call, and returns its answer.
    pub(super) async fn ask<Q: Serialize, A: DeserializeOwned>(
        &self,
        route: &str,
        question: &Q,
        limits: CallLimits,
    ) -> Result<A> {
        let answer = self.call(Method::POST, route, json(question)?, limits).await?;
        serde_json::from_slice(&answer).map_err(|error| {
            let why = errors::shown(&error.to_string());
            Error::new(ErrorKind::Io, format!("invalid answer of the server in the pod to `{route}`: {why}"))
                .hint("check that the image serves the protocol of the HTTP mode")
        })
    }

    async fn call(&self, method: Method, route: &str, body: Bytes, limits: CallLimits) -> Result<Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{}{route}", self.authority))
            .header(TOKEN, &self.token)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("invalid request: {error}")))?;
        let answered = async {
            let answer = self.http.request(request).await.map_err(|error| broken(route, &error))?;
            received(route, answer, limits.bytes).await
        };
        match timeout(limits.time, answered).await {
            Ok(answer) => answer,
            Err(_) => {
                let seconds = limits.time.as_secs();
                let sentence = format!("`{route}` of the server in the pod timed out after {seconds} s");
                Err(Error::new(ErrorKind::TimedOut, sentence))
            }
        }
    }
}

/// Reads an answer, and refuses one that is too large or not a success.
async fn received<B>(route: &str, answer: Response<B>, most: usize) -> Result<Bytes>
where
    B: hyper::body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let status = answer.status();
    let most = if status.is_success() { most } else { SMALL };
    let body = match Limited::new(answer.into_body(), most).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) if !status.is_success() => Bytes::new(),
        Err(error) if error.is::<LengthLimitError>() => {
            let sentence = format!("the answer of the server in the pod to `{route}` is larger than {most} bytes");
            return Err(Error::new(ErrorKind::TooLarge, sentence).hint("use a command to read a part of it"));
        }
        Err(error) => return Err(broken(route, &*error)),
    };
    if status.is_success() { Ok(body) } else { Err(refused(route, status, &body)) }
}

/// Returns the error of a status other than success.
fn refused(route: &str, status: StatusCode, body: &[u8]) -> Error {
    let said = errors::shown(&detail(body));
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    let code = status.as_u16();
    let sentence = format!("the server in the pod answered HTTP {code} to `{route}`{said}");
    let kind = match code {
        401 | 403 => ErrorKind::PermissionDenied,
        404 => ErrorKind::NotFound,
        400 | 422 => ErrorKind::InvalidArgument,
        413 => ErrorKind::TooLarge,
        405 | 501 => ErrorKind::Unsupported,
        429 | 503 => ErrorKind::Busy,
        _ => ErrorKind::Io,
    };
    let error = Error::new(kind, sentence);
    match kind {
        ErrorKind::PermissionDenied => error.hint("the server must accept the token in `SANDBOX_EXEC_TOKEN`"),
        _ => error,
    }
}

/// Returns what an error says: the text under the usual names, or the whole text.
fn detail(body: &[u8]) -> String {
    let parsed: Option<serde_json::Value> = serde_json::from_slice(body).ok();
    let named = parsed.as_ref().and_then(|value| {
        ["detail", "error", "message"].iter().find_map(|name| value.get(name).and_then(serde_json::Value::as_str))
    });
    named.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned)
}

fn json(question: &impl Serialize) -> Result<Bytes> {
    let told = serde_json::to_vec(question);
    told.map(Bytes::from).map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("invalid request: {error}")))
}

/// Returns the error of a connection that was not made, or broke.
fn broken(route: &str, error: &(dyn std::error::Error + 'static)) -> Error {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    let what = match error.downcast_ref::<HttpError>() {
        Some(error) if error.is_connect() => "cannot be reached",
        _ => "does not answer as HTTP",
    };
    let why = errors::shown(&cause.to_string());
    Error::new(ErrorKind::Unreachable, format!("the server in the pod {what} at `{route}`: {why}"))
}
