//! A build without traces.

use axum::http::{HeaderMap, Method};
use workden::{Error, ErrorKind, Result};

/// No traces.
#[derive(Debug)]
pub(crate) struct Traces;

impl Traces {
    /// Refuses a collector.
    pub(crate) fn to(collector: Option<&str>) -> Result<Self> {
        match collector {
            None => Ok(Self),
            Some(_) => Err(Error::new(ErrorKind::Unsupported, "`otlp_endpoint` is not supported by this build")
                .hint("build it with `cargo install workden-cli --features otel`")),
        }
    }

    pub(crate) fn begin(&self, _: &Method, _: &str, _: &HeaderMap) -> RequestSpan {
        RequestSpan
    }

    pub(crate) async fn end(&self) {}
}

/// No span.
pub(crate) struct RequestSpan;

impl RequestSpan {
    pub(crate) fn end(self, _: u16, _: &str) {}
}
