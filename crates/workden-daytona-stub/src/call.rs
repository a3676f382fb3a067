//! `Call`: one request, split into what routes look at.

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, Request, body::Incoming, header::HeaderMap};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::{answer::Refused, faults::FaultKind};

/// A request to a route.
pub(crate) struct Call {
    pub(crate) request: Request<Incoming>,
    /// The path below the service, split and decoded.
    pub(crate) segments: Vec<String>,
    query: Vec<(String, String)>,
    /// The fault of this call, if it has one.
    pub(crate) fault: Option<FaultKind>,
}

impl Call {
    pub(crate) fn new(request: Request<Incoming>) -> Self {
        let segments = request.uri().path().split('/').skip(1).map(decoded).collect();
        let query = request.uri().query().unwrap_or_default();
        let query = query.split('&').filter(|part| !part.is_empty()).map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (form_decoded(name), form_decoded(value))
        });
        let query = query.collect();
        Self { request, segments, query, fault: None }
    }

    /// Removes the first segments, which the caller has looked at.
    pub(crate) fn below(mut self, depth: usize) -> Self {
        self.segments.drain(..depth.min(self.segments.len()));
        self
    }

    pub(crate) fn method(&self) -> &Method {
        self.request.method()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.request.headers()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the first value of a parameter of the query that is not empty.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters(name).find(|value| !value.is_empty())
    }

    pub(crate) fn parameters(&self, name: &str) -> impl Iterator<Item = &str> {
        self.query.iter().filter(move |(named, _)| named == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, Refused> {
        self.parameter(name).ok_or_else(|| Refused::invalid(format!("`{name}` is required")))
    }

    /// Returns the version that the SDK says it has.
    pub(crate) fn sdk_version(&self) -> Option<[u64; 3]> {
        const NAME: &str = "X-Daytona-SDK-Version";
        let protocols = self.header("Sec-WebSocket-Protocol").unwrap_or_default();
        let offered = protocols.split(',').find_map(|offered| offered.trim().strip_prefix(NAME)?.strip_prefix('~'));
        let text = self.header(NAME).or(offered)?;
        let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
        Some([parts.next()?, parts.next().unwrap_or(0), parts.next().unwrap_or(0)])
    }

    pub(crate) async fn bytes(&mut self) -> Result<Bytes, Refused> {
        let body = self.request.body_mut().collect().await;
        body.map(|body| body.to_bytes()).map_err(|error| Refused::invalid(format!("incomplete body: {error}")))
    }

    /// Parses the body. No body is an empty object.
    pub(crate) async fn json<T: DeserializeOwned>(&mut self) -> Result<T, Refused> {
        let bytes = self.bytes().await?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        serde_json::from_slice(text)
            .map_err(|error| Refused::invalid(format!("invalid body: {error}")).code("INVALID_REQUEST_BODY"))
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn form_decoded(text: &str) -> String {
    decoded(&text.replace('+', " "))
}
