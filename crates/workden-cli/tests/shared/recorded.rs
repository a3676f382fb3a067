//! What a service has recorded of a session: its events.

use reqwest::StatusCode;
use serde_json::Value;

use crate::served::{Caller, text};

/// Returns all events of a session.
pub(crate) async fn events(caller: &Caller<'_>, session: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    loop {
        let after = all.last().map_or(0, |event| event["seq"].as_i64().unwrap());
        let (status, page) = caller.get(&format!("{session}/events?limit=1000&after={after}")).await;
        assert_eq!(status, StatusCode::OK, "{page}");
        match page.as_array().unwrap() {
            page if page.is_empty() => return all,
            page => all.extend(page.clone()),
        }
    }
}

/// Fails unless the numbers are 1, 2, 3 and so on.
pub(crate) fn assert_without_gaps(events: &[Value]) {
    let numbers: Vec<i64> = events.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=i64::try_from(events.len()).unwrap()).collect::<Vec<_>>());
}

/// Returns the paths that were written, one for each event.
pub(crate) fn written(events: &[Value]) -> Vec<String> {
    let is_write = |event: &&Value| event["kind"] == "call" && event["data"]["call"] == "write";
    let path = |event: &Value| text(&event["data"]["paths"][0]["typed"]);
    events.iter().filter(is_write).map(path).collect()
}
