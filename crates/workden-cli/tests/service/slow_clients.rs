//! Clients that send slowly, too much or nothing, and clients that do not read.

use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::tungstenite::Message;

use crate::{
    processes::attach,
    served::{PATIENCE, Served, StateDirectory, until},
};

/// Short times, so that a test sees them pass. A busy machine only makes them longer.
const LIMITS: &str = "[limits]\nheader_seconds = 1\nbody_seconds = 1\nunread_seconds = 1\nanswer_seconds = 3\n";

fn impatient() -> (StateDirectory, Served) {
    let state = StateDirectory::new();
    let config = state.path().join("serve.toml");
    std::fs::write(&config, LIMITS).unwrap();
    let served = Served::start(state.path(), &["--config", config.to_str().unwrap()]);
    (state, served)
}

/// Sends bytes, and returns what comes until the service closes the connection.
async fn exchange(served: &Served, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_client_that_stops_sending_is_disconnected() {
    let (_state, served) = impatient();
    for begun in ["", "G", "PRI * HTTP/2.0\r\n", "GET /healthz HTTP/1.1\r\nhost: a\r\nx-long: "] {
        let answer = exchange(&served, begun.as_bytes()).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{begun:?}: {answer}");
    }
    // Between two requests, too.
    let answer = exchange(&served, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let key = &served.key;
    let head = format!("POST /v1/sessions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {key}\r\n");
    let head = format!("{head}content-type: application/json\r\ncontent-length: 20\r\n\r\n{{\"name\"");
    let answer = exchange(&served, head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("nothing of the body"), "{answer}");
    assert_eq!(served.admin().get("/v1/sessions").await.1["sessions"], json!([]), "nothing came of it");
}

#[tokio::test]
async fn a_body_may_come_slowly_as_long_as_it_comes() {
    let (_state, served) = impatient();
    let (session, _) = served.admin().session(json!({})).await;
    let mut stream = TcpStream::connect(served.address()).await.unwrap();
    let head = format!("PUT {session}/files?path=slow HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n", served.key);
    stream.write_all(format!("{head}content-length: 8\r\nconnection: close\r\n\r\n").as_bytes()).await.unwrap();
    for byte in b"complete" {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stream.write_all(&[*byte]).await.unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(served.admin().run(&session, "cat slow").await.1, "complete");
    // One that stops changes nothing.
    let cut = format!("{head}content-length: 100\r\n\r\nhalf").replace("path=slow", "path=cut");
    assert!(exchange(&served, cut.as_bytes()).await.starts_with("HTTP/1.1 408"));
    assert_eq!(served.admin().run(&session, "ls").await.1, "slow\n");
}

#[tokio::test]
async fn headers_and_bodies_have_a_largest_size() {
    let (_state, served) = impatient();
    let request = |fields: &str| format!("GET /v1/sessions HTTP/1.1\r\nhost: a\r\n{fields}\r\n");
    let many: String = (0..200).map(|number| format!("x-{number}: 1\r\n")).collect();
    let large = format!("x-large: {}\r\n", "a".repeat(200_000));
    for fields in [many, large] {
        let answer = exchange(&served, request(&fields).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 431"), "{}: {answer}", fields.len());
    }
    let admin = served.admin();
    let post = async |body: String| {
        let request = admin.request(Method::POST, "/v1/sessions").header("content-type", "application/json");
        request.body(body).send().await.unwrap().status()
    };
    assert_eq!(post(format!("{{\"name\": \"{}\"}}", "a".repeat(17 << 20))).await, StatusCode::PAYLOAD_TOO_LARGE);
    let deep = format!("{{\"policy\": {{\"rules\": {}1{}}}}}", "[".repeat(100_000), "]".repeat(100_000));
    for nested in ["[".repeat(1 << 20), deep] {
        assert!(post(nested).await.is_client_error());
    }
    for garbage in ["{", "\u{0}", "{\"name\": \"\\ud800\"}", "{\"idle_seconds\": 1e999}", "null x"] {
        assert!(post(garbage.to_owned()).await.is_client_error(), "{garbage:?}");
    }
    // Two lengths, or a length and chunks: what a proxy before the service could read in another way.
    for smuggled in ["content-length: 1\r\ncontent-length: 2\r\n", "content-length: x\r\n", "transfer-encoding: x\r\n"]
    {
        let answer = exchange(&served, request(smuggled).as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{smuggled}: {answer}");
    }
    assert_eq!(admin.get("/healthz").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends_with_what_it_started() {
    let (_state, served) = impatient();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let (status, late) = admin.post(&format!("{session}/commands"), json!({ "command": "sleep 1000" })).await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT, "{late}");
    assert!(late["error"]["message"].as_str().unwrap().contains("timed out after 3 s"), "{late}");
    until("its end", || async { admin.run(&session, "pgrep -c sleep").await.1 == "0\n" }).await;
}

#[tokio::test]
async fn a_websocket_that_never_reads_is_closed_and_the_process_goes_on() {
    let (_state, served) = impatient();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let line = json!({ "command": "while read -r line; do yes | head -c 100000000; echo end; done" });
    let (_, process) = admin.post(&format!("{session}/processes"), line).await;
    let at = format!("{session}/processes/{}", process["id"]);
    let mut deaf = attach(&served, &format!("{at}/attach")).await;
    deaf.send(Message::Text("{\"type\":\"signal\",\"signal\":\"CONT\"}".into())).await.unwrap();
    let started = admin.request(Method::POST, &format!("{at}/input")).body("go\n").send().await.unwrap();
    assert_eq!(started.status(), StatusCode::NO_CONTENT);
    let open = async || {
        let text = crate::metrics::read(&served).await;
        crate::metrics::value(&text, "workden_connections ")
    };
    // Only reading tells this client that it was disconnected; the service knows.
    let before = Instant::now();
    until("its end", || async { open().await <= 2.0 && before.elapsed() > Duration::from_secs(3) }).await;
    while let Some(Ok(_)) = timeout(PATIENCE, deaf.next()).await.unwrap() {}
    assert_eq!(admin.get(&at).await.1["running"], true);
}
