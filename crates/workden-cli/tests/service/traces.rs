//! Traces of requests, as a collector of OpenTelemetry receives them.

use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::served::{Served, StateDirectory};

/// A collector that keeps what it receives.
async fn collector() -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (url, received) = (format!("http://{}", listener.local_addr().unwrap()), Arc::new(Mutex::new(Vec::new())));
    let kept = Arc::clone(&received);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            // The head, and then as many bytes as it says.
            while let Ok(1..) = stream.read_buf(&mut request).await {
                let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
                let Some(head) = text.find("\r\n\r\n") else { continue };
                let length = text[..head].lines().find_map(|line| line.strip_prefix("content-length: "));
                if request.len() >= head + 4 + length.unwrap().trim().parse::<usize>().unwrap() {
                    break;
                }
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
            kept.lock().unwrap().extend(request);
        }
    });
    (url, received)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_a_span_below_that_of_its_client() {
    let (url, received) = collector().await;
    let state = StateDirectory::new();
    let served = Served::start_with(state.path(), &[], &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)]);
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let request = served.admin().request(Method::GET, "/v1/sessions/not-in-a-trace");
    let answer = request.header("traceparent", format!("00-{trace}-b7ad6b7169203331-01")).send().await.unwrap();
    let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    let (_, token) = served.admin().session(json!({})).await;
    let key = served.key.clone();
    tokio::task::block_in_place(|| served.end());
    let received = received.lock().unwrap().clone();
    let text = String::from_utf8_lossy(&received).into_owned();
    for expected in ["POST /v1/traces", "GET /v1/sessions/{id}", "POST /v1/sessions", "service.name", "workden", &id] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let bytes: Vec<u8> = trace
        .as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect();
    assert!(received.windows(16).any(|window| window == bytes), "it belongs to the trace of its client");
    for secret in [&*key, &token, "not-in-a-trace"] {
        assert!(!text.contains(secret), "{secret}");
    }
}
