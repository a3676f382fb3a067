//! A small HTTP client, so that tests see statuses, headers and bytes as they are.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, StatusCode, body::Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use workden_daytona_stub::{Stub, StubOptions};
use workden_sandboxes::KeeperProgram;

/// A stub, and one sandbox in it.
pub(crate) struct Client {
    pub(crate) stub: Arc<Stub>,
    pub(crate) id: String,
}

/// An answer that was read to its end.
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: hyper::HeaderMap,
    pub(crate) bytes: Bytes,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("not JSON: {:?}", self.bytes))
    }

    /// Returns the body of a successful answer.
    pub(crate) fn ok(&self) -> Value {
        assert!(StatusCode::from_u16(self.status).unwrap().is_success(), "{} {:?}", self.status, self.bytes);
        if self.bytes.is_empty() { Value::Null } else { self.json() }
    }
}

pub(crate) fn options() -> StubOptions {
    StubOptions::new(KeeperProgram::at(env!("CARGO_BIN_EXE_workden-daytona-stub")))
}

pub(crate) async fn stub(options: StubOptions) -> Client {
    Client { stub: Arc::new(Stub::start(options).await.unwrap()), id: String::new() }
}

/// Returns a stub with a started sandbox.
pub(crate) async fn started() -> Client {
    let mut client = stub(options()).await;
    client.id = client.create(&json!({})).await;
    client
}

impl Client {
    pub(crate) async fn create(&self, request: &Value) -> String {
        let made = self.api("POST", "/sandbox", Some(request)).await.ok();
        let id = made["id"].as_str().unwrap().to_owned();
        self.wait(&id, "started").await;
        id
    }

    /// Waits for a state; a sandbox that fails ends the wait.
    pub(crate) async fn wait(&self, id: &str, state: &str) -> Value {
        for _ in 0..6000 {
            let shown = self.api("GET", &format!("/sandbox/{id}"), None).await.ok();
            if shown["state"] == state {
                return shown;
            }
            assert!(shown["state"] != "error", "{shown}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{id} does not become {state}");
    }

    pub(crate) async fn api(&self, method: &str, path: &str, body: Option<&Value>) -> Got {
        self.send(method, &format!("/api{path}"), body.map(Value::to_string).unwrap_or_default()).await
    }

    /// Calls the toolbox of the sandbox.
    pub(crate) async fn toolbox(&self, method: &str, path: &str, body: Option<&Value>) -> Got {
        let path = format!("/toolbox/{}{path}", self.id);
        self.send(method, &path, body.map(Value::to_string).unwrap_or_default()).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Got {
        let key = format!("Bearer {}", self.stub.api_key());
        self.try_send(method, path, &[("Authorization", &key)], body).await.unwrap()
    }

    pub(crate) async fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Got, hyper::Error> {
        let (parts, body) = self.open(method, path, headers, body).await?.into_parts();
        let bytes = body.collect().await?.to_bytes();
        Ok(Got { status: parts.status.as_u16(), headers: parts.headers, bytes })
    }

    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        open(self.stub.origin(), method, path, headers, body).await
    }
}

/// Sends a request to a server and returns the beginning of its answer.
pub(crate) async fn open(
    origin: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Result<Response<Incoming>, hyper::Error> {
    let host = origin.strip_prefix("http://").unwrap();
    let stream = TcpStream::connect(host).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection.with_upgrades());
    let mut request = Request::builder().method(method).uri(path).header("Host", host);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    sender.send_request(request.body(Full::new(body.into())).unwrap()).await
}

/// A WebSocket of the toolbox.
pub(crate) type Socket = tokio_tungstenite::WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

impl Client {
    /// Opens a WebSocket, or returns the status of the refusal.
    pub(crate) async fn socket(&self, path: &str, protocols: &str) -> Result<Socket, u16> {
        let (path, key) = (format!("/toolbox/{}{path}", self.id), format!("Bearer {}", self.stub.api_key()));
        let mut headers = vec![
            ("Authorization", key.as_str()),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        if !protocols.is_empty() {
            headers.push(("Sec-WebSocket-Protocol", protocols));
        }
        let answer = self.open("GET", &path, &headers, "").await.unwrap();
        if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(answer.status().as_u16());
        }
        assert_eq!(answer.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        let stream = TokioIo::new(hyper::upgrade::on(answer).await.unwrap());
        let role = tokio_tungstenite::tungstenite::protocol::Role::Client;
        Ok(Socket::from_raw_socket(stream, role, None).await)
    }
}
