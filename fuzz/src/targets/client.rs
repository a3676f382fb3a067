//! The client of a keeper: whatever the other side answers, it does not panic, and its errors are short and visible.

use std::convert::Infallible;

use axum::{body::Body, response::Response};
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use workden_core::{
    Backend, ByteRange, Error, Resolved, Sandbox, Symlink, VirtualPath, escape,
    sandbox::{Command, ExecuteRequest, SpawnRequest},
    search::{GlobRequest, GrepRequest, ListRequest},
    text::TextWindow,
};
use workden_wire::RemoteSandbox;

use crate::in_time;

pub(crate) const SEEDS: &[&[u8]] = &[
    br#"0{"protocol": 1, "directory": "/w", "isolation": {"level": "none", "walls": [], "lacking": ["x"], "limits": []}}"#,
    br#"1{"typed": "/a", "real": "/a", "presence": "absent"}"#,
    br#"2{"path": "/a", "kind": "file", "size": 1}"#,
    br#"3{"files": [{"path": "/a", "lines": []}]}"#,
    br#"4{"output": {"head": "x"}, "ended": {"exited": 0}}"#,
    br#"5{"entries": [], "left_out": 0}"#,
    b"6\x01\x00\x00\x00\x02{}",
    br#"7{"kind": "not_found", "sentence": "x", "hint": "y"}"#,
];

const GREETING: &[u8] =
    br#"{"protocol": 1, "directory": "/w", "isolation": {"level": "none", "walls": [], "lacking": [], "limits": []}}"#;

/// Answers one call with the input: its first byte chooses the call, the rest is the body.
pub fn client(data: &[u8]) {
    let Some((choice, body)) = data.split_first() else { return };
    in_time(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(answered(*choice, body));
    });
}

async fn answered(choice: u8, body: &[u8]) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (body, greets, refuses) = (body.to_vec(), !choice.is_multiple_of(8), choice % 8 == 7);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let is_greeting = greets && request.uri().path() == "/hello";
        let mut response = Response::new(Body::from(if is_greeting { GREETING.to_vec() } else { body.clone() }));
        if refuses && !is_greeting {
            *response.status_mut() = StatusCode::CONFLICT;
        }
        async move { Ok::<_, Infallible>(response) }
    });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    tokio::spawn(async move { server.serve_connection(TokioIo::new(far), service).await });
    let called = match RemoteSandbox::connect(near, None).await {
        Ok(remote) => call(&remote, choice).await,
        Err(error) => Err(error),
    };
    if let Err(error) = called {
        let text = error.to_string();
        assert!(text.chars().count() < 200_000, "an error of {} bytes", text.len());
        assert!(text.chars().all(|character| character == '\n' || escape::shows_itself(character)), "{text:?}");
    }
}

async fn call(remote: &RemoteSandbox, choice: u8) -> Result<(), Error> {
    let path = VirtualPath::parse("/a")?;
    let at = Resolved::literal(path.clone());
    match choice % 16 {
        1 => remote.resolve(&path, Symlink::Follow).await.map(drop),
        2 => remote.stat(&at).await.map(drop),
        3 => remote.grep(&at, &GrepRequest::literal("x")).await.map(drop),
        4 => remote.execute(&ExecuteRequest::shell("true")).await.map(drop),
        5 => remote.list(&at, &ListRequest::default()).await.map(drop),
        6 => remote.spawn(&SpawnRequest::piped(Command::Shell("true".to_owned()))).await.map(drop),
        8 => remote.glob(&at, &GlobRequest::new("**")).await.map(drop),
        9 => remote.read(&at, ByteRange::Whole { most: 1 << 20 }).await.map(drop),
        10 => remote.read_text(&at, TextWindow::lines(0, 10)).await.map(drop),
        11 => remote.jobs().await.map(drop),
        12 => remote.isolation().await.map(drop),
        _ => remote.usage().await.map(drop),
    }
}
