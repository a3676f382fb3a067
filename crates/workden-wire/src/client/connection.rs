//! The connection of a client: it sends requests and receives answers or errors.

use std::{future::Future, time::Duration};

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{
    body::Incoming,
    client::conn::http2::{self, SendRequest},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::watch,
    time::timeout,
};
use workden_core::{Error, ErrorKind, Result};

use crate::{
    PROTOCOL,
    calls::{Call, Hello, HelloAnswer},
    errors,
    header::{ARGUMENTS, to_header},
    limits,
};

/// A connection. Clones share it.
#[derive(Clone)]
pub(super) struct Connection {
    requests: SendRequest<Body>,
    authorization: Option<HeaderValue>,
    /// Closed by the task of the connection when it ends.
    over: watch::Receiver<()>,
}

/// How long a broken connection may take to end.
const ENDS_WITHIN: Duration = Duration::from_millis(500);

impl Connection {
    pub(super) async fn open<S>(stream: S, token: Option<&str>) -> Result<Self>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let authorization = token.map(bearer).transpose()?;
        let opened = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(limits::CLIENT_WINDOW)
            .initial_connection_window_size(limits::CONNECTION_WINDOW)
            .initial_max_send_streams(limits::OPEN_CALLS as usize)
            .max_frame_size(limits::FRAME_BYTES)
            .max_header_list_size(limits::HEADER_BYTES)
            .max_send_buf_size(limits::SERVER_WINDOW as usize)
            .max_concurrent_reset_streams(limits::OPEN_CALLS as usize)
            .handshake(TokioIo::new(stream));
        let (requests, connection) = opened.await.map_err(errors::gone_because)?;
        // The connection ends with the last sender, or with the stream; waiting calls get the reason.
        let (ending, over) = watch::channel(());
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = &error as &dyn std::error::Error, "connection to the sandbox ended");
            }
            drop(ending);
        });
        Ok(Self { requests, authorization, over })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.requests.is_closed()
    }

    /// Waits a short time for the end of the connection.
    pub(super) async fn ends(&self) {
        let mut over = self.over.clone();
        let _ = timeout(ENDS_WITHIN, over.changed()).await;
    }

    /// Makes a call with JSON in both directions.
    pub(super) async fn call<C: Call>(&self, call: &C) -> Result<C::Answer> {
        within::<C, _>(async { answer::<C>(self.post(call).await?).await }).await
    }

    /// Asks for the greeting, and checks that the other side speaks the same version.
    pub(super) async fn greet(&self) -> Result<HelloAnswer> {
        let greeting = async { whole(self.post(&Hello::new()).await?.into_body(), Hello::LIMITS.bytes).await };
        let text = within::<Hello<'_>, _>(greeting).await?;
        let invalid = |error| errors::not_understood("with an invalid greeting").with_source(error);
        // The version comes first, because the rest of another version's greeting may not be readable here.
        let theirs = serde_json::from_slice::<Version>(&text).map_err(invalid)?.protocol;
        if theirs != Some(PROTOCOL) {
            let theirs = theirs.map_or_else(|| "none".to_owned(), |version| version.to_string());
            let why =
                format!("the sandbox speaks version {theirs} of the protocol, and this program version {PROTOCOL}");
            return Err(Error::new(ErrorKind::Unsupported, why).hint("use a keeper and a program of one release"));
        }
        let hello: HelloAnswer = serde_json::from_slice(&text).map_err(invalid)?;
        Ok(HelloAnswer { isolation: hello.isolation.escaped(), ..hello })
    }

    /// Makes a call with JSON arguments.
    pub(super) async fn post<C: Call>(&self, call: &C) -> Result<Response<Incoming>> {
        let message = serde_json::to_vec(call).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, "cannot serialise the arguments of this call").with_source(error)
        })?;
        if message.len() > limits::MESSAGE_BYTES {
            let most = limits::MESSAGE_BYTES;
            let why = format!("the arguments of this call have more than {most} bytes");
            return Err(Error::new(ErrorKind::TooLarge, why).hint("write large content as a file"));
        }
        self.send(Method::POST, C::PATH, HeaderMap::new(), Body::from(message)).await
    }

    /// Makes a call whose body is content or empty: the arguments are in a header.
    pub(super) async fn with_body<C: Call>(&self, method: Method, call: &C, body: Body) -> Result<Response<Incoming>> {
        let headers = HeaderMap::from_iter([(HeaderName::from_static(ARGUMENTS), to_header(call)?)]);
        self.send(method, C::PATH, headers, body).await
    }

    async fn send(
        &self,
        method: Method,
        path: &'static str,
        headers: HeaderMap,
        body: Body,
    ) -> Result<Response<Incoming>> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        *request.uri_mut() = Uri::builder()
            .scheme("http")
            .authority("workden")
            .path_and_query(path)
            .build()
            .map_err(|error| errors::not_understood("at no address").with_source(error))?;
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        let sent = self.requests.clone().send_request(request);
        let response = sent.await.map_err(broken)?;
        if response.status().is_success() { Ok(response) } else { Err(refusal(response).await) }
    }
}

#[derive(Deserialize)]
struct Version {
    protocol: Option<u32>,
}

fn bearer(token: &str) -> Result<HeaderValue> {
    let mut header = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| Error::new(ErrorKind::InvalidArgument, "invalid token: use visible ASCII characters only"))?;
    header.set_sensitive(true);
    Ok(header)
}

/// Waits for the answer to a call, as long as it may take.
pub(super) async fn within<C: Call, A>(answer: impl Future<Output = Result<A>>) -> Result<A> {
    let Some(most) = C::LIMITS.time else { return answer.await };
    timeout(most, answer).await.unwrap_or_else(|_| {
        let sentence = format!("the sandbox did not answer within {} s", most.as_secs());
        Err(Error::new(ErrorKind::TimedOut, sentence).hint("the sandbox hangs: stop it, and start a new one"))
    })
}

/// Parses the answer to a call.
pub(super) async fn answer<C: Call>(response: Response<Incoming>) -> Result<C::Answer> {
    parse(response, C::LIMITS.bytes).await
}

async fn parse<A: DeserializeOwned>(response: Response<Incoming>, most: usize) -> Result<A> {
    let text = whole(response.into_body(), most).await?;
    serde_json::from_slice(&text).map_err(|error| errors::not_understood("with invalid JSON").with_source(error))
}

async fn refusal(response: Response<Incoming>) -> Error {
    let status = response.status();
    match parse::<Error>(response, limits::SHORT_ANSWER.bytes).await {
        Ok(error) => error.escaped(limits::ERROR_CHARACTERS),
        Err(error) if error.kind() == ErrorKind::Gone => error,
        Err(_) => errors::not_understood(&format!("with status {}", status.as_u16())),
    }
}

/// Reads a whole body, up to a limit.
pub(super) async fn whole(body: Incoming, most: usize) -> Result<Bytes> {
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(Error::new(ErrorKind::TooLarge, format!("the sandbox answered more than {most} bytes")))
        }
        Err(error) => Err(error.downcast::<hyper::Error>().map_or_else(|_| errors::gone(), |error| broken(*error))),
    }
}

/// Interprets an error of the connection: the sandbox aborted one call, or it is gone.
pub(super) fn broken(error: hyper::Error) -> Error {
    let cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    let mut causes = std::iter::successors(cause, |error| error.source());
    let is_reset = causes
        .any(|error| error.downcast_ref::<h2::Error>().is_some_and(|error| error.is_reset() && error.is_remote()));
    if is_reset {
        return Error::new(ErrorKind::Io, "the sandbox aborted the call")
            .hint("the sandbox is still running; repeat the call")
            .with_source(error);
    }
    errors::gone_because(error)
}
