//! Each fault, as a client sees it, and what was done behind it.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;
use workden_daytona_stub::{Fault, FaultKind};

use crate::client::{Client, Got, options, started, stub};

async fn attempt(client: &Client, method: &str, path: &str) -> Result<Got, hyper::Error> {
    let key = format!("Bearer {}", client.stub.api_key());
    client.try_send(method, path, &[("Authorization", &key)], "").await
}

#[tokio::test]
async fn a_status_comes_as_often_as_asked_and_nothing_is_done() {
    let client = stub(options()).await;
    let kind = FaultKind::Status { status: 429, retry_after: Some("7".into()), body: Some("slow down".into()) };
    client.stub.add_fault(Fault::times("POST /sandbox", 2, kind));
    for _ in 0..2 {
        let got = attempt(&client, "POST", "/api/sandbox").await.unwrap();
        assert_eq!(
            (got.status, &got.headers["retry-after"], &got.bytes[..]),
            (429, &"7".parse().unwrap(), &b"slow down"[..])
        );
    }
    assert_eq!(client.stub.counters().created, 0);
    assert_eq!(attempt(&client, "POST", "/api/sandbox").await.unwrap().status, 200);
}

#[tokio::test]
async fn a_connection_is_closed_before_or_after_the_call_is_done() {
    let client = stub(options()).await;
    client.stub.add_fault(Fault::once("POST /sandbox", FaultKind::CloseBeforeAnswer));
    client.stub.add_fault(Fault::once("POST /sandbox", FaultKind::LostAnswer));
    for created in [0, 1] {
        assert!(attempt(&client, "POST", "/api/sandbox").await.is_err());
        assert_eq!(client.stub.counters().created, created);
    }
}

#[tokio::test]
async fn a_hanging_request_does_not_hold_others_up() {
    let client = stub(options()).await;
    client.stub.add_fault(Fault::once("GET /sandbox", FaultKind::Hang));
    let hanging = attempt(&client, "GET", "/api/sandbox");
    let other = async {
        // The first request has taken the fault when it is in the record.
        while client.stub.requests().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        attempt(&client, "GET", "/api/sandbox").await.unwrap().status
    };
    tokio::select! {
        _ = hanging => panic!("an answer came"),
        status = other => assert_eq!(status, 200),
    }
}

#[tokio::test]
async fn bodies_are_cut_extended_and_left_without_their_end() {
    let client = started().await;
    client.toolbox("POST", "/process/execute", Some(&json!({ "command": "printf 0123456789 >f" }))).await.ok();
    let path = format!("/toolbox/{}/files/download?path=f", client.id);
    client.stub.add_fault(Fault::once("GET /toolbox/*/files/download", FaultKind::TruncatedBody));
    assert!(attempt(&client, "GET", &path).await.is_err());
    let bytes = 3_000_000;
    client.stub.add_fault(Fault::once("GET /toolbox/*/files/download", FaultKind::OversizedBody { bytes }));
    assert_eq!(attempt(&client, "GET", &path).await.unwrap().bytes.len(), 3_000_010);
    assert_eq!(attempt(&client, "GET", &path).await.unwrap().bytes, "0123456789");
    client.stub.add_fault(Fault::once("POST /toolbox/*/files/bulk-download", FaultKind::NoEndBoundary));
    let paths = json!({ "paths": ["f"] });
    let got = client.toolbox("POST", "/files/bulk-download", Some(&paths)).await;
    assert_eq!(got.status, 200);
    assert!(got.bytes.ends_with(b"\r\n\r\n0123456789"), "{:?}", got.bytes);
}

#[tokio::test]
async fn a_sandbox_that_fails_says_why_and_can_be_deleted_or_recovered() {
    let client = stub(options()).await;
    let kind = FaultKind::EndsInError { reason: "no runner".into() };
    client.stub.add_fault(Fault::times("POST /sandbox", 2, kind));
    for name in ["a", "b"] {
        client.api("POST", "/sandbox", Some(&json!({ "name": name }))).await.ok();
        loop {
            let shown = client.api("GET", &format!("/sandbox/{name}"), None).await.ok();
            if shown["state"] == "error" {
                assert_eq!(shown["errorReason"], "no runner");
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    client.api("DELETE", "/sandbox/a", None).await.ok();
    client.api("POST", "/sandbox/b/recover", None).await.ok();
    client.wait("b", "started").await;
    while client.stub.counters().known > 1 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_slow_start_stays_in_its_state() {
    let client = stub(options()).await;
    client.stub.add_fault(Fault::once("POST /sandbox", FaultKind::slow_start(Duration::from_secs(3600))));
    client.api("POST", "/sandbox", Some(&json!({ "name": "slow" }))).await.ok();
    // Another one that is created later is there first.
    client.create(&json!({ "name": "fast" })).await;
    assert_eq!(client.api("GET", "/sandbox/slow", None).await.ok()["state"], "creating");
    assert_eq!(client.api("DELETE", "/sandbox/slow", None).await.status, 409);
}

#[tokio::test]
async fn the_socket_of_a_log_is_cut() {
    let client = started().await;
    client.toolbox("POST", "/process/session", Some(&json!({ "sessionId": "s" }))).await.ok();
    let begun = json!({ "command": "echo a", "runAsync": true });
    let id = client.toolbox("POST", "/process/session/s/exec", Some(&begun)).await.ok()["cmdId"].clone();
    client.stub.add_fault(Fault::once("GET /toolbox/*/process/session/*/command/*/logs", FaultKind::TruncatedBody));
    let path = format!("/process/session/s/command/{}/logs?follow=true", id.as_str().unwrap());
    let mut socket = client.socket(&path, "").await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap().into_data(), &b"\x01"[..]);
    assert!(socket.next().await.unwrap().is_err());
}

#[tokio::test]
async fn requests_are_recorded_with_their_headers() {
    let client = stub(options()).await;
    client.try_send("GET", "/api/sandbox?limit=1", &[("X-Mine", "yes")], "").await.unwrap();
    let seen = client.stub.requests();
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("GET", "/api/sandbox"));
    assert_eq!((seen[0].query.as_str(), seen[0].header("x-mine")), ("limit=1", Some("yes")));
    assert_eq!(seen[0].header("authorization"), None);
    client.stub.forget_requests();
    assert!(client.stub.requests().is_empty());
}
