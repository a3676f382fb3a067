//! Ports of a sandbox, from outside.

use std::time::Duration;

use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Client, started};

/// Answers each request with its own head, or switches protocols and answers each byte in upper case.
const SERVER: &str = r#"
import socket, threading
def serve(c):
    head = b''
    while b'\r\n\r\n' not in head: head += c.recv(65536)
    if b'upgrade: shout' in head.lower():
        c.sendall(b'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n')
        while (b := c.recv(65536)): c.sendall(b.upper())
        return
    c.sendall(b'HTTP/1.1 200 OK\r\nX-Own: yes\r\nContent-Length: %d\r\n\r\n' % len(head) + head)
s = socket.create_server(('127.0.0.1', 8765))
print('listening', flush=True)
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"#;

async fn with_server() -> Client {
    let client = started().await;
    client.toolbox("POST", "/process/session", Some(&json!({ "sessionId": "s" }))).await.ok();
    let line = format!("python3 -c \"{SERVER}\"");
    let begun = json!({ "command": line, "runAsync": true });
    let id = client.toolbox("POST", "/process/session/s/exec", Some(&begun)).await.ok()["cmdId"].clone();
    let logs = format!("/process/session/s/command/{}/logs", id.as_str().unwrap());
    loop {
        let got = client.toolbox("GET", &logs, None).await.bytes;
        if got == "listening\n" {
            return client;
        }
        assert!(got.is_empty(), "{got:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_request_reaches_the_port_as_it_was_sent() {
    let client = with_server().await;
    let got = client.toolbox("GET", "/proxy/8765/a/b?c=d%20e", None).await;
    assert_eq!((got.status, &got.headers["x-own"]), (200, &hyper::header::HeaderValue::from_static("yes")));
    let head = String::from_utf8(got.bytes.to_vec()).unwrap().to_lowercase();
    assert!(head.starts_with("get /a/b?c=d%20e http/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("authorization: bearer {}", client.stub.api_key())), "{head}");
    assert_eq!(client.toolbox("GET", "/proxy/9/", None).await.status, 502);
}

#[tokio::test]
async fn a_preview_needs_its_token_and_no_key() {
    let client = with_server().await;
    let preview = client.api("GET", &format!("/sandbox/{}/ports/8765/preview-url", client.id), None).await.ok();
    let path = preview["url"].as_str().unwrap().strip_prefix(client.stub.origin()).unwrap().to_owned();
    let token = preview["token"].as_str().unwrap();
    let get = async |path: &str, token: &str| {
        client.try_send("GET", path, &[("X-Daytona-Preview-Token", token)], "").await.unwrap()
    };
    assert_eq!(get(&path, token).await.status, 200);
    assert_eq!(get(&format!("/toolbox/{}/proxy/8765/x", client.id), token).await.status, 200);
    assert_eq!(get(&path, "other").await.status, 401);
    assert_eq!(get(&path.replace("8765", "8766"), token).await.status, 401);
    let got = client.try_send("GET", &path, &[], "").await.unwrap();
    assert_eq!(got.status, 401);
}

#[tokio::test]
async fn an_upgraded_connection_carries_bytes_both_ways() {
    let client = with_server().await;
    let key = format!("Bearer {}", client.stub.api_key());
    let path = format!("/toolbox/{}/proxy/8765/", client.id);
    let headers = [("Authorization", key.as_str()), ("Connection", "Upgrade"), ("Upgrade", "shout")];
    let answer = client.open("GET", &path, &headers, "").await.unwrap();
    assert_eq!(answer.status(), 101);
    let mut stream = TokioIo::new(hyper::upgrade::on(answer).await.unwrap());
    for piece in ["a", "bc"] {
        stream.write_all(piece.as_bytes()).await.unwrap();
        let mut back = vec![0; piece.len()];
        stream.read_exact(&mut back).await.unwrap();
        assert_eq!(back, piece.to_uppercase().as_bytes());
    }
    let large = vec![b'x'; 3 << 20];
    let (mut from, mut to) = tokio::io::split(stream);
    let mut back = vec![0; large.len()];
    let (sent, read) = tokio::join!(to.write_all(&large), from.read_exact(&mut back));
    sent.unwrap();
    read.unwrap();
    assert!(back.iter().all(|byte| *byte == b'X'));
}
