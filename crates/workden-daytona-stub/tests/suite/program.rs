//! The stub as a program, as tests in other languages start it.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::client::open;

#[tokio::test]
async fn a_program_prints_its_address_is_controlled_over_it_and_ends_with_its_input() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_workden-daytona-stub"))
        .args(["--port", "0", "--api-key", "k"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(program.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let origin = url.trim().strip_suffix("/api").unwrap();
    let send = async |method: &str, path: &str, body: Value| {
        let headers = [("Authorization", "Bearer k")];
        let (parts, body) = open(origin, method, path, &headers, body.to_string()).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        (parts.status.as_u16(), serde_json::from_slice::<Value>(&bytes).unwrap_or_default())
    };
    let fault = json!({ "route": "GET /sandbox", "times": 1, "kind": { "status": { "status": 503 } } });
    assert_eq!(send("POST", "/stub/faults", fault).await.0, 204);
    assert_eq!(send("GET", "/api/sandbox", json!({})).await.0, 503);
    assert_eq!(send("GET", "/api/sandbox", json!({})).await.0, 200);
    assert_eq!(send("POST", "/stub/faults", json!({ "kind": "hang" })).await.0, 400);
    let always = json!({ "route": "/**", "kind": "close_before_answer" });
    assert_eq!(send("POST", "/stub/faults", always).await.0, 204);
    assert_eq!(send("DELETE", "/stub/faults", json!({})).await.0, 204);
    let (_, seen) = send("GET", "/stub/requests", json!({})).await;
    assert_eq!((seen.as_array().unwrap().len(), &seen[0]["path"]), (2, &json!("/api/sandbox")));
    assert_eq!(send("POST", "/api/sandbox", json!({})).await.0, 200);
    assert_eq!(send("GET", "/stub/counters", json!({})).await.1["created"], 1);
    drop(program.stdin.take());
    assert!(program.wait().unwrap().success());
}
