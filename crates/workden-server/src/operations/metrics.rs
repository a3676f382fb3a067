//! `/metrics`: what Prometheus reads. Counters are kept as things happen; gauges of the state are read when asked.
//!
//! Invariant: labels have few values: routes are templates, never paths, and no session, tenant or key is named.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::{
        HeaderMap, Method,
        header::{CONTENT_TYPE, HeaderName},
    },
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram, info::Info},
    registry::{Registry, Unit},
};
use workden::{Error, ErrorKind};

use super::process;
use crate::{
    identity::key_in,
    service::{Answer, Service},
};

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The bounds of the buckets of answer times, in seconds.
const BUCKETS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0];

/// The labels of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

/// The label of an answer time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// The label of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

/// The counters of a process of the service.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    answers: Family<RouteLabels, Histogram, fn() -> Histogram>,
    events: Family<KindLabels, Counter>,
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Calls in progress.
    pub(crate) calls: Gauge,
    sessions: Gauge,
    questions: Gauge,
    waiting_events: Gauge,
    memory: Gauge,
    descriptors: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("workden");
        let requests = Family::default();
        registry.register("requests", "Requests, by route and status", requests.clone());
        let answers = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> Histogram);
        registry.register_with_unit("answer", "Time until the answer started", Unit::Seconds, answers.clone());
        let events = Family::default();
        registry.register("events", "Recorded events of sessions, by kind", events.clone());
        registry.register("build", "The version", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        Self {
            connections: gauge("connections", "Open connections"),
            calls: gauge("calls", "Calls in progress"),
            sessions: gauge("sessions", "Sessions that run, of all processes of the service"),
            questions: gauge("approvals_pending", "Questions that wait for an answer"),
            waiting_events: gauge("events_waiting", "Events that are not stored yet"),
            memory: gauge("process_resident_bytes", "Memory of this process"),
            descriptors: gauge("process_open_files", "Open descriptors of this process"),
            requests,
            answers,
            events,
            registry,
        }
    }

    /// Counts an answered request.
    pub(crate) fn answered(&self, method: &Method, route: &str, status: u16, time: Duration) {
        let route = route.to_owned();
        self.answers.get_or_create(&RouteLabels { route: route.clone() }).observe(time.as_secs_f64());
        self.requests.get_or_create(&RequestLabels { method: known(method), route, status }).inc();
    }

    /// Counts an event.
    pub(crate) fn recorded(&self, kind: &'static str) {
        self.events.get_or_create(&KindLabels { kind }).inc();
    }
}

/// Returns the name of a method. A client can invent others, and each would be a label.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        "CONNECT" => "CONNECT",
        _ => "other",
    }
}

/// Answers Prometheus. It needs a key of an administrator, unless the configuration says otherwise.
pub(super) async fn read(
    State(service): State<Arc<Service>>,
    headers: HeaderMap,
) -> Answer<([(HeaderName, &'static str); 1], String)> {
    if !service.config().metrics_without_key {
        service.admit(key_in(&headers), &headers).await?.require_admin()?;
    }
    let metrics = &service.metrics;
    metrics.sessions.set(service.database.running_sessions(None).await?);
    metrics.questions.set(service.database.pending_approvals().await?);
    metrics.waiting_events.set(i64::try_from(service.events.waiting()).unwrap_or(i64::MAX));
    metrics.memory.set(process::resident_bytes());
    metrics.descriptors.set(process::open_files());
    let mut text = String::new();
    encode(&mut text, &metrics.registry).map_err(|_| Error::new(ErrorKind::Io, "cannot write the metrics"))?;
    Ok(([(CONTENT_TYPE, TEXT)], text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invented_method_is_no_label() {
        let metrics = Metrics::new();
        let mut text = String::new();
        for method in ["GET", "BREW", "STEEP"] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            metrics.answered(&method, "/v1/sessions/{id}", 200, Duration::from_millis(3));
        }
        encode(&mut text, &metrics.registry).unwrap();
        let counted = |method: &str| {
            format!("workden_requests_total{{method=\"{method}\",route=\"/v1/sessions/{{id}}\",status=\"200\"}}")
        };
        assert!(text.contains(&format!("{} 1\n", counted("GET"))), "{text}");
        assert!(text.contains(&format!("{} 2\n", counted("other"))) && !text.contains("BREW"), "{text}");
        assert!(text.contains("workden_answer_seconds_count{route=\"/v1/sessions/{id}\"} 3\n"), "{text}");
    }
}
