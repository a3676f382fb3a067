//! Sessions: state between commands, separate streams, input, logs as they come.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use workden_daytona_stub::{Fault, FaultKind};

use crate::client::{Client, Got, started};

async fn execute(client: &Client, request: Value) -> Got {
    let path = format!("/toolbox/{}/process/session/s/exec", client.id);
    let key = format!("Bearer {}", client.stub.api_key());
    let headers = [("Authorization", key.as_str()), ("X-Daytona-SDK-Version", "0.167.0")];
    client.try_send("POST", &path, &headers, request.to_string()).await.unwrap()
}

async fn with_session() -> Client {
    let client = started().await;
    let made = client.toolbox("POST", "/process/session", Some(&json!({ "sessionId": "s" }))).await;
    assert_eq!(made.status, 201);
    client
}

/// Starts a command and returns the path of its routes.
async fn begin(client: &Client, line: &str) -> String {
    let got = execute(client, json!({ "command": line, "runAsync": true, "suppressInputEcho": true })).await;
    assert_eq!(got.status, 202);
    format!("/process/session/s/command/{}", got.json()["cmdId"].as_str().unwrap())
}

/// Reads a log to its end, as frames.
async fn follow(client: &Client, command: &str) -> Vec<Vec<u8>> {
    let path = format!("{command}/logs?follow=true");
    let mut socket = client.socket(&path, "X-Daytona-SDK-Version~0.226.1").await.unwrap();
    let mut frames = Vec::new();
    while let Some(message) = socket.next().await {
        match message.unwrap() {
            Message::Binary(bytes) => frames.push(bytes.to_vec()),
            Message::Close(frame) => assert_eq!(u16::from(frame.unwrap().code), 1000),
            other => panic!("{other:?}"),
        }
    }
    frames
}

#[tokio::test]
async fn a_session_keeps_its_state_and_separates_its_streams() {
    let client = with_session().await;
    let first = execute(&client, json!({ "command": "cd /tmp; X=1; export Y=2" })).await;
    assert_eq!((first.status, &first.json()["exitCode"]), (200, &json!(0)));
    let line = "pwd; echo $X$Y; echo wrong >&2; false";
    let second = execute(&client, json!({ "command": line, "runAsync": false })).await.ok();
    assert_eq!((&second["stdout"], &second["stderr"]), (&json!("/tmp\n12\n"), &json!("wrong\n")));
    assert_eq!(second["exitCode"], 1);
    let broken = execute(&client, json!({ "command": "if (" })).await.ok();
    assert_eq!(broken["exitCode"], 2, "{broken}");
    let shown = client.toolbox("GET", "/process/session/s", None).await.ok();
    assert_eq!(shown["commands"].as_array().unwrap().len(), 3);
    assert_eq!((&shown["commands"][1]["command"], &shown["commands"][1]["exitCode"]), (&json!(line), &json!(1)));
}

#[tokio::test]
async fn without_a_version_the_streams_are_one() {
    let client = with_session().await;
    let path = "/process/session/s/exec";
    let got = client.toolbox("POST", path, Some(&json!({ "command": "echo a; echo b >&2" }))).await.ok();
    assert_eq!((&got["stdout"], &got["exitCode"]), (&Value::Null, &json!(0)));
    let mut lines: Vec<&str> = got["output"].as_str().unwrap().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["a", "b"]);
}

#[tokio::test]
async fn a_running_command_gets_input_and_shows_its_log() {
    let client = with_session().await;
    let command = begin(&client, "read x; echo got $x; read y; echo and $y >&2; exit 5").await;
    assert!(client.toolbox("GET", &command, None).await.ok().get("exitCode").is_none());
    let mut socket = client.socket(&format!("{command}/logs?follow=true"), "").await.unwrap();
    let input = format!("{command}/input");
    assert_eq!(client.toolbox("POST", &input, Some(&json!({ "data": "one\n" }))).await.status, 204);
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::binary(&b"\x01\x01\x01got one\n"[..]));
    client.toolbox("POST", &input, Some(&json!({ "data": "two\n" }))).await.ok();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::binary(&b"\x02\x02\x02and two\n"[..]));
    assert!(socket.next().await.unwrap().unwrap().is_close());
    // `exit` ends the shell, and the session with it.
    assert_eq!(client.toolbox("GET", &command, None).await.ok()["exitCode"], 5);
    assert_eq!(client.toolbox("POST", &input, Some(&json!({ "data": "x" }))).await.status, 410);
    assert_eq!(execute(&client, json!({ "command": "true" })).await.status, 410);
}

#[tokio::test]
async fn a_log_can_be_read_after_the_end_and_with_every_mark_split() {
    let client = with_session().await;
    let command = begin(&client, "echo a; echo b >&2").await;
    let whole = follow(&client, &command).await;
    // Each stream is in order; between the two there is none.
    let (first, second) = (&b"\x01\x01\x01a\n"[..], &b"\x02\x02\x02b\n"[..]);
    assert!([[first, second].concat(), [second, first].concat()].contains(&whole.concat()), "{whole:?}");
    client.stub.add_fault(Fault::once("GET /toolbox/*/process/session/*/command/*/logs", FaultKind::SplitMarks));
    let split = follow(&client, &command).await;
    assert!(split.iter().all(|frame| frame.len() == 1));
    assert_eq!(split.concat(), whole.concat());
    let text = client.toolbox("GET", &format!("{command}/logs"), None).await.bytes;
    assert!(text == "a\nb\n" || text == "b\na\n", "{text:?}");
}

#[tokio::test]
async fn a_deleted_session_ends_with_its_processes() {
    let client = with_session().await;
    assert_eq!(client.toolbox("POST", "/process/session", Some(&json!({ "sessionId": "s" }))).await.status, 409);
    let command = begin(&client, "echo started; sleep 98765").await;
    let logs = format!("{command}/logs");
    while client.toolbox("GET", &logs, None).await.bytes != "started\n" {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(client.toolbox("DELETE", "/process/session/s", None).await.status, 204);
    assert_eq!(client.toolbox("DELETE", "/process/session/s", None).await.status, 404);
    assert_eq!(client.toolbox("GET", &command, None).await.status, 404);
    let count = json!({ "command": "grep -lz 9876[5] /proc/[0-9]*/cmdline | wc -l" });
    for _ in 0..600 {
        if client.toolbox("POST", "/process/execute", Some(&count)).await.ok()["result"] == "0\n" {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the command still runs");
}
