//! Clients that do not keep to the protocol: the server answers or hangs up, and serves on.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use http::{HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use tokio::{io::AsyncWriteExt, task::JoinHandle, time::timeout};
use workden_core::{Error, ErrorKind, Result};
use workden_wire::ServeOptions;

use crate::{
    pipes::{in_memory, in_memory_files, served},
    scripted::Scripted,
};

type Server = JoinHandle<Result<()>>;

async fn client() -> (SendRequest<Body>, Server) {
    let (near, far) = in_memory();
    let server = served(Arc::new(Scripted::over(in_memory_files())), far, ServeOptions::default());
    let builder = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
    let (requests, connection) = builder.handshake(TokioIo::new(near)).await.unwrap();
    tokio::spawn(connection);
    (requests, server)
}

fn request(method: Method, path: &str, body: impl Into<Body>) -> Request<Body> {
    Request::builder().method(method).uri(format!("http://workden{path}")).body(body.into()).unwrap()
}

async fn ask(requests: &mut SendRequest<Body>, request: Request<Body>) -> (StatusCode, Error) {
    let response = timeout(Duration::from_secs(20), requests.send_request(request)).await.expect("an answer").unwrap();
    let status = response.status();
    let text = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{error}: {text:?}")))
}

#[tokio::test]
async fn requests_that_make_no_sense_are_answered_with_errors() {
    let (mut requests, server) = client().await;
    let stat = "/v1/stat";
    for (method, path, body, status, kind) in [
        (Method::POST, "/", "{}", 404, ErrorKind::Unsupported),
        (Method::POST, "/v2/stat", "{}", 404, ErrorKind::Unsupported),
        (Method::GET, "/v1/../../etc/passwd", "", 404, ErrorKind::Unsupported),
        (Method::POST, "/v1/stat/", "{}", 404, ErrorKind::Unsupported),
        (Method::GET, stat, "", 405, ErrorKind::Unsupported),
        (Method::DELETE, "/v1/write", "", 405, ErrorKind::Unsupported),
        (Method::POST, stat, "", 400, ErrorKind::InvalidArgument),
        (Method::POST, stat, "{", 400, ErrorKind::InvalidArgument),
        (Method::POST, stat, "\u{0}\u{1}", 400, ErrorKind::InvalidArgument),
        (Method::POST, stat, "{}", 400, ErrorKind::InvalidArgument),
        (Method::POST, stat, r#"{"at": 7}"#, 400, ErrorKind::InvalidArgument),
        (Method::POST, stat, r#"{"at": {"typed": "/../x", "real": "/x"}}"#, 400, ErrorKind::InvalidArgument),
        (Method::POST, "/v1/process/signal", r#"{"process": 1, "signal": "NOPE"}"#, 400, ErrorKind::InvalidArgument),
        (Method::POST, "/v1/process/resize", r#"{"process": -1}"#, 400, ErrorKind::InvalidArgument),
        (Method::POST, "/v1/process/close_input", r#"{"process": 99}"#, 410, ErrorKind::Gone),
        (Method::PUT, "/v1/write", "content", 400, ErrorKind::InvalidArgument),
        (Method::PUT, "/v1/process/input", "content", 400, ErrorKind::InvalidArgument),
        (Method::PUT, "/v1/tree", "content", 400, ErrorKind::InvalidArgument),
        (Method::GET, "/v1/tree", "", 400, ErrorKind::InvalidArgument),
    ] {
        let (answered, error) = ask(&mut requests, request(method.clone(), path, body)).await;
        assert_eq!((answered.as_u16(), error.kind()), (status, kind), "{method} {path} {body}: {error}");
    }
    for header in ["", "{", "7", r#"{"at": "/"}"#, "\u{fc}"] {
        let mut write = request(Method::PUT, "/v1/write", "content");
        let header = HeaderValue::from_bytes(header.as_bytes()).unwrap();
        write.headers_mut().insert("workden-arguments", header);
        assert_eq!(ask(&mut requests, write).await.1.kind(), ErrorKind::InvalidArgument);
    }
    let deep = "[".repeat(1_000_000);
    assert_eq!(ask(&mut requests, request(Method::POST, stat, deep)).await.1.kind(), ErrorKind::InvalidArgument);
    assert!(!server.is_finished());
}

#[tokio::test]
async fn arguments_without_end_are_refused() {
    let (mut requests, server) = client().await;
    let piece = bytes::Bytes::from(vec![b' '; 1 << 20]);
    let endless = futures_util::stream::repeat_with(move || Ok::<_, Error>(piece.clone()));
    let (status, error) = ask(&mut requests, request(Method::POST, "/v1/stat", Body::from_stream(endless))).await;
    assert_eq!((status.as_u16(), error.kind()), (413, ErrorKind::TooLarge));
    assert!(!server.is_finished());
}

#[tokio::test]
async fn giant_headers_are_refused() {
    let (mut requests, server) = client().await;
    let mut giant = request(Method::PUT, "/v1/write", "content");
    giant.headers_mut().insert("workden-arguments", HeaderValue::try_from("x".repeat(10 << 20)).unwrap());
    let answered = timeout(Duration::from_secs(20), requests.send_request(giant)).await.expect("an answer");
    assert!(answered.is_err() || !answered.unwrap().status().is_success());
    drop(requests);
    let ended = timeout(Duration::from_secs(20), server).await.expect("the server ends with its client");
    assert!(ended.is_ok(), "it did not panic");
}

/// Sends bytes, hangs up, and waits for the server to notice.
async fn sent(bytes: &[u8]) {
    let (near, far) = in_memory();
    let server = served(Arc::new(Scripted::over(in_memory_files())), far, ServeOptions::default());
    let (mut reader, mut writer) = tokio::io::split(near);
    let reading = tokio::spawn(async move { tokio::io::copy(&mut reader, &mut tokio::io::sink()).await });
    // The server may hang up in the middle, which is its right.
    drop(writer.write_all(bytes).await);
    drop(writer.shutdown().await);
    let ended = timeout(Duration::from_secs(20), server).await.expect("the server ends with its client");
    assert!(ended.is_ok(), "it did not panic");
    drop(reading.await);
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[tokio::test]
async fn what_is_not_the_protocol_ends_the_connection() {
    let frame = |kind: u8, flags: u8, stream: u32, length: usize| {
        let mut frame = (length as u32).to_be_bytes()[1..].to_vec();
        frame.extend_from_slice(&[kind, flags]);
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.resize(9 + length, 0x41);
        frame
    };
    for bytes in [
        b"".to_vec(),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(),
        vec![0; 100_000],
        vec![0xff; 100_000],
        PREFACE.to_vec(),
        PREFACE[..10].to_vec(),
        [PREFACE, &frame(0, 0, 1, 100)].concat(),
        [PREFACE, &frame(1, 4, 1, 100)].concat(),
        [PREFACE, &frame(1, 0, 1, 10), &frame(9, 0, 1, 16_000).repeat(1_000)].concat(),
        [PREFACE, &frame(4, 0, 0, 6).repeat(10_000)].concat(),
        [PREFACE, &frame(6, 0, 0, 8).repeat(100_000)].concat(),
        [PREFACE, &frame(8, 0, 0, 4).repeat(10_000)].concat(),
        [PREFACE, &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1], &[0; 1 << 17]].concat(),
    ] {
        sent(&bytes).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_bytes_make_the_server_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2_000), greets: bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let bytes = if greets { [PREFACE, &bytes].concat() } else { bytes };
        runtime.block_on(sent(&bytes));
    }
}
