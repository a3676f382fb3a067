//! Terminals: connecting, typing, resizing, ending.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Socket, started};

/// Reads output until it contains a text.
async fn until(socket: &mut Socket, text: &str) {
    let mut seen = String::new();
    while !seen.contains(text) {
        match socket.next().await.unwrap_or_else(|| panic!("ended: {seen}")).unwrap() {
            Message::Binary(bytes) => seen.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("{other:?} after {seen}"),
        }
    }
}

async fn type_line(socket: &mut Socket, line: &str) {
    socket.send(Message::binary(format!("{line}\n").into_bytes())).await.unwrap();
}

/// Reads to the end, and returns control messages and the reason of the close.
async fn end(socket: &mut Socket) -> (Vec<Value>, Value) {
    let mut messages = Vec::new();
    while let Some(message) = socket.next().await {
        match message.unwrap() {
            Message::Text(text) => messages.push(serde_json::from_str(&text).unwrap()),
            Message::Close(frame) => return (messages, serde_json::from_str(&frame.unwrap().reason).unwrap()),
            _ => {}
        }
    }
    panic!("no close")
}

#[tokio::test]
async fn a_terminal_is_typed_into_resized_and_ends_with_its_code() {
    let client = started().await;
    let request = json!({ "id": "p", "cwd": "/tmp", "envs": { "X": "y" }, "cols": 100, "rows": 30 });
    assert_eq!(client.toolbox("POST", "/process/pty", Some(&request)).await.ok(), json!({ "sessionId": "p" }));
    assert_eq!(client.toolbox("POST", "/process/pty", Some(&request)).await.status, 409);
    let mut socket = client.socket("/process/pty/p/connect", "").await.unwrap();
    let first = socket.next().await.unwrap().unwrap().into_text().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&first).unwrap(), json!({ "type": "control", "status": "connected" }));
    type_line(&mut socket, "echo in $PWD-$X $(stty size)").await;
    until(&mut socket, "in /tmp-y 30 100").await;
    let size = json!({ "cols": 90, "rows": 20 });
    assert_eq!(client.toolbox("POST", "/process/pty/p/resize", Some(&size)).await.ok()["cols"], 90);
    type_line(&mut socket, "stty size").await;
    until(&mut socket, "20 90").await;
    type_line(&mut socket, "exit 7").await;
    assert_eq!(end(&mut socket).await, (vec![], json!({ "exitCode": 7 })));
    assert_eq!(client.toolbox("POST", "/process/pty/p/resize", Some(&size)).await.status, 410);
    let shown = client.toolbox("GET", "/process/pty", None).await.ok();
    assert_eq!((&shown["sessions"][0]["id"], &shown["sessions"][0]["active"]), (&json!("p"), &json!(false)));
}

#[tokio::test]
async fn one_call_creates_and_connects_and_a_kill_is_told() {
    let client = started().await;
    let variables = "X-Daytona-Pty-Envs~eyJYIjoieSJ9";
    let path = "/process/pty/create-connect?id=q&cols=80&rows=24";
    let protocols = format!("X-Daytona-Pty-Exit-Control, {variables}");
    let mut socket = client.socket(path, &protocols).await.unwrap();
    assert!(socket.next().await.unwrap().unwrap().is_text());
    type_line(&mut socket, "echo X=$X").await;
    until(&mut socket, "X=y").await;
    assert!(matches!(client.socket(path, &protocols).await, Err(409)));
    client.toolbox("DELETE", "/process/pty/q", None).await.ok();
    let (messages, reason) = end(&mut socket).await;
    assert_eq!(reason["exitCode"], 137);
    assert_eq!((&messages[0]["status"], &messages[0]["exitCode"]), (&json!("exited"), &json!(137)));
    assert!(matches!(client.socket("/process/pty/q/connect", "").await, Err(404)));
}
