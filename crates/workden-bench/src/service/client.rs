//! One connection to a service, which stays open: requests one after another.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Method, Request, StatusCode, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::servers::{Face, Side};
use crate::Failure;

/// A connection to a service.
pub(super) struct Client {
    requests: http1::SendRequest<Full<Bytes>>,
    host: String,
    key: String,
    pub(super) face: Face,
}

impl Client {
    pub(super) async fn of(side: &Side) -> Result<Self, Failure> {
        let requests = opened(&side.address).await?;
        Ok(Self { requests, host: side.address.clone(), key: side.key.clone(), face: side.face.clone() })
    }

    /// Makes a call, and returns the body of its answer.
    pub(super) async fn call(&mut self, method: Method, path: &str, body: Bytes, kind: &str) -> Result<Bytes, Failure> {
        let request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, kind)
            .header("x-sandbox-token", &self.key)
            .body(Full::new(body))?;
        // A server ends connections that were quiet for some seconds.
        if self.requests.ready().await.is_err() {
            self.requests = opened(&self.host).await?;
        }
        let (head, body) = self.requests.send_request(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        match head.status {
            status if status.is_success() => Ok(body),
            StatusCode::NOT_FOUND if method == Method::DELETE => Ok(body),
            status => Err(format!("{method} {path}: {status}: {}", String::from_utf8_lossy(&body)).into()),
        }
    }

    pub(super) async fn json(&mut self, method: Method, path: &str, body: &Value) -> Result<Value, Failure> {
        let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
        let answer = self.call(method, path, body, "application/json").await?;
        if answer.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_slice(&answer)?) }
    }

    pub(super) async fn delete(&mut self, session: &str) -> Result<(), Failure> {
        let path = self.face.session(session);
        self.json(Method::DELETE, &path, &Value::Null).await.map(drop)
    }
}

async fn opened(address: &str) -> Result<http1::SendRequest<Full<Bytes>>, Failure> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (requests, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(requests)
}
