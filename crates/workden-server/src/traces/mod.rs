//! Traces of requests for a collector of OpenTelemetry, behind the feature `otel`. Without it this is nothing.
//!
//! Invariant: a span has what the log has: method, route, status, id. No key, no path, no content.

#[cfg(feature = "otel")]
mod collector;
#[cfg(feature = "otel")]
mod sent;
#[cfg(not(feature = "otel"))]
mod unsent;

#[cfg(feature = "otel")]
pub(crate) use sent::Traces;
#[cfg(not(feature = "otel"))]
pub(crate) use unsent::Traces;
