//! `/metrics` as Prometheus reads it.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::served::{Served, StateDirectory, text};

/// Reads the metrics as an administrator.
pub(crate) async fn read(served: &Served) -> String {
    served.admin().request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap()
}

/// Returns the value of the line that starts so; 0 if there is none.
pub(crate) fn value(metrics: &str, start: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(start));
    line.map_or(0.0, |value| value.trim().parse().unwrap())
}

#[tokio::test]
async fn an_administrator_reads_what_happens_and_no_name_is_in_it() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({ "name": "secret-project", "policy": { "preset": "readonly" } })).await;
    admin.run_status(&session).await;
    admin.put(&session, "hidden-file", "x").await;
    admin.get("/no/such/path-of-mine").await;
    let metrics = read(&served).await;
    let counted = |method: &str, route: &str, status: u16| {
        value(&metrics, &format!("workden_requests_total{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}"))
    };
    assert_eq!(counted("POST", "/v1/sessions", 201), 1.0, "{metrics}");
    assert_eq!(counted("PUT", "/v1/sessions/{id}/files", 403), 1.0, "{metrics}");
    assert_eq!(counted("GET", "other", 404), 1.0, "{metrics}");
    assert_eq!(value(&metrics, "workden_answer_seconds_count{route=\"/v1/sessions\"}"), 1.0);
    assert_eq!(value(&metrics, "workden_events_total{kind=\"session_created\"}"), 1.0);
    assert_eq!(value(&metrics, "workden_sessions "), 1.0);
    assert!(value(&metrics, "workden_process_resident_bytes ") > 1e6, "{metrics}");
    assert!(value(&metrics, "workden_connections ") >= 1.0 && value(&metrics, "workden_calls ") == 1.0, "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
    for name in ["secret-project", "hidden-file", "path-of-mine", &served.key, session.rsplit('/').next().unwrap()] {
        assert!(!metrics.contains(name), "{name}: {metrics}");
    }
    assert_eq!(served.with_key(&token).get("/metrics").await.0, StatusCode::FORBIDDEN);
    assert_eq!(served.with_key("").get("/metrics").await.0, StatusCode::UNAUTHORIZED);
    let (_, made) = admin.post("/v1/keys", json!({ "role": "tenant" })).await;
    assert_eq!(served.with_key(&text(&made["key"])).get("/metrics").await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn without_a_key_they_are_read_where_the_configuration_says_so() {
    let state = StateDirectory::new();
    let config = state.path().join("serve.toml");
    std::fs::write(&config, "metrics_without_key = true\n").unwrap();
    let served = Served::start(state.path(), &["--config", config.to_str().unwrap()]);
    assert_eq!(served.with_key("").get("/metrics").await.0, StatusCode::OK);
    assert_eq!(served.with_key("").get("/v1/sessions").await.0, StatusCode::UNAUTHORIZED);
}
