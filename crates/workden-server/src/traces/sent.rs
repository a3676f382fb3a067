//! A span for each request, as a child of the span that its client names, sent in batches.

use axum::http::{HeaderMap, Method};
use opentelemetry::{
    KeyValue,
    propagation::TextMapPropagator,
    trace::{Span, SpanKind, Status, Tracer, TracerProvider},
};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    propagation::TraceContextPropagator,
    trace::{SdkTracer, SdkTracerProvider},
};
use workden::{Error, ErrorKind, Result};

use super::collector::Collector;

/// Where spans go.
#[derive(Debug)]
pub(crate) struct Traces(Option<Destination>);

#[derive(Debug)]
struct Destination {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    /// Reads which span a request belongs to.
    propagator: TraceContextPropagator,
}

impl Traces {
    /// Returns traces for a collector that speaks OTLP over HTTP, like `http://localhost:4318`; none for none.
    pub(crate) fn to(collector: Option<&str>) -> Result<Self> {
        let Some(url) = collector else { return Ok(Self(None)) };
        let invalid = |why: String| {
            Error::new(ErrorKind::InvalidArgument, format!("invalid `otlp_endpoint`: {why}"))
                .hint("use the address of a collector, like http://localhost:4318")
        };
        let traces = format!("{}/v1/traces", url.trim_end_matches('/'));
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector::here())
            .with_endpoint(traces)
            .with_protocol(Protocol::HttpBinary)
            .build()
            .map_err(|error| invalid(error.to_string()))?;
        let resource = Resource::builder().with_service_name("workden");
        let resource = resource.with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))).build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        let tracer = provider.tracer("workden");
        Ok(Self(Some(Destination { provider, tracer, propagator: TraceContextPropagator::new() })))
    }

    /// Begins the span of a request.
    pub(crate) fn begin(&self, method: &Method, route: &str, headers: &HeaderMap) -> RequestSpan {
        RequestSpan(self.0.as_ref().map(|to| {
            let parent = to.propagator.extract(&HeaderExtractor(headers));
            let span = to.tracer.span_builder(format!("{method} {route}")).with_kind(SpanKind::Server);
            let attributes = [("http.request.method", method.to_string()), ("http.route", route.to_owned())];
            let span = span.with_attributes(attributes.map(|(name, value)| KeyValue::new(name, value)));
            to.tracer.build_with_context(span, &parent)
        }))
    }

    /// Sends what is left.
    pub(crate) async fn end(&self) {
        let Some(provider) = self.0.as_ref().map(|to| to.provider.clone()) else { return };
        let ended = tokio::task::spawn_blocking(move || provider.shutdown()).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::warn!("the last traces were not sent");
        }
    }
}

/// The span of a request.
pub(crate) struct RequestSpan(Option<opentelemetry_sdk::trace::Span>);

impl RequestSpan {
    /// Ends the span with the status of the answer and the id of the request.
    pub(crate) fn end(self, status: u16, request: &str) {
        let Some(mut span) = self.0 else { return };
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
        span.set_attribute(KeyValue::new("workden.request", request.to_owned()));
        if status >= 500 {
            span.set_status(Status::error(""));
        }
        span.end();
    }
}
