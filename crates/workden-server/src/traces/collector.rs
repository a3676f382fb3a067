//! The way to a collector: HTTP with hyper, and TLS with rustls, as everywhere in workden.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::http::{HeaderValue, Request, Response, Uri, header::HOST};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use opentelemetry_http::{HttpClient, HttpError};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    runtime::Handle,
    time::timeout,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName},
};

/// How long a collector may take for a batch.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of its answer.
const ANSWER: usize = 1 << 20;

/// Sends batches. The exporter has a thread of its own; connections belong to the runtime of the service.
#[derive(Debug)]
pub(super) struct Collector(Handle);

impl Collector {
    /// Returns the way from the runtime of the current task.
    pub(super) fn here() -> Self {
        Self(Handle::current())
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        self.0.spawn(async { timeout(PATIENCE, send(request)).await? }).await?
    }
}

async fn send(request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let address = request.uri().clone();
    let host = address.host().ok_or("the address has no host")?.trim_matches(['[', ']']).to_owned();
    let is_secure = address.scheme_str() == Some("https");
    let port = address.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await?;
    if !is_secure {
        return exchange(stream, request).await;
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth();
    let stream = TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(host)?, stream).await?;
    exchange(stream, request).await
}

async fn exchange<S>(stream: S, mut request: Request<Bytes>) -> Result<Response<Bytes>, HttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let authority = request.uri().authority().map(|authority| HeaderValue::from_str(authority.as_str())).transpose()?;
    request.headers_mut().extend(authority.map(|authority| (HOST, authority)));
    let target: Uri = request.uri().path_and_query().map_or("/", |target| target.as_str()).parse()?;
    *request.uri_mut() = target;
    let (mut requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let (head, body) = requests.send_request(request.map(Full::new)).await?.into_parts();
    let body = Limited::new(body, ANSWER).collect().await?.to_bytes();
    connection.abort();
    Ok(Response::from_parts(head, body))
}
