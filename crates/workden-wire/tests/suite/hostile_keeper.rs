//! Servers that do not keep to the protocol, as commands in a container may put in the place of a keeper: the client
//! refuses, in bounded time and memory, and shows nothing that a terminal would act upon.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::{Request, StatusCode};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use proptest::prelude::*;
use tokio::time::timeout;
use workden_core::{
    Backend, ByteRange, Error, ErrorKind, Result, Sandbox, sandbox::ExecuteRequest, search::GrepRequest,
};
use workden_wire::RemoteSandbox;

use crate::pipes::{at, in_memory, path};

/// How a server answers a path.
type Answering = Arc<dyn Fn(&str) -> Response<Body> + Send + Sync>;

const GREETING: &str =
    r#"{"protocol": 1, "directory": "/w", "isolation": {"level": "none", "walls": [], "lacking": [], "limits": []}}"#;

async fn connect(answering: impl Fn(&str) -> Response<Body> + Send + Sync + 'static) -> Result<RemoteSandbox> {
    let (near, far) = in_memory();
    let answering: Answering = Arc::new(answering);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let answering = Arc::clone(&answering);
        async move { Ok::<_, Infallible>(answering(request.uri().path())) }
    });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    tokio::spawn(async move { server.serve_connection(TokioIo::new(far), service).await });
    RemoteSandbox::connect(near, None).await
}

/// Greets properly, and answers everything else like this.
async fn after_greeting(answer: impl Fn() -> Response<Body> + Send + Sync + 'static) -> RemoteSandbox {
    let answering = move |path: &str| match path {
        "/hello" => Response::new(Body::from(GREETING)),
        _ => answer(),
    };
    connect(answering).await.unwrap()
}

fn endless() -> Response<Body> {
    let piece = Bytes::from(vec![b' '; 1 << 16]);
    Response::new(Body::from_stream(stream::repeat_with(move || Ok::<_, Error>(piece.clone()))))
}

fn never() -> Response<Body> {
    Response::new(Body::from_stream(stream::pending::<Result<Bytes, Error>>()))
}

/// Makes one call of each kind.
async fn all_calls(remote: &RemoteSandbox) -> Vec<Error> {
    let request = ExecuteRequest::shell("true");
    let part = ByteRange::Whole { most: 1 << 20 };
    let grep = GrepRequest::literal("x");
    vec![
        remote.stat(&at("/a")).await.unwrap_err(),
        remote.read(&at("/a"), part).await.unwrap_err(),
        remote.make_dir(&at("/a")).await.unwrap_err(),
        remote.usage().await.unwrap_err(),
        remote.isolation().await.unwrap_err(),
        remote.jobs().await.unwrap_err(),
        remote.execute(&request).await.unwrap_err(),
        remote.grep(&at("/"), &grep).await.unwrap_err(),
    ]
}

#[tokio::test]
async fn a_giant_greeting_is_refused_before_it_is_parsed() {
    let numbers = "0,".repeat(1 << 20);
    let giant = format!(r#"{{"protocol": 1, "x": [{numbers}0]}}"#);
    let error = connect(move |_| Response::new(Body::from(giant.clone()))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert_eq!(connect(|_| endless()).await.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn an_answer_without_end_is_refused() {
    let remote = after_greeting(endless).await;
    for call in [remote.stat(&at("/a")).await.map(drop), remote.usage().await.map(drop)] {
        assert_eq!(call.unwrap_err().kind(), ErrorKind::TooLarge);
    }
    assert!(remote.read(&at("/a"), ByteRange::Whole { most: 1 << 20 }).await.is_err());
    assert_eq!(remote.execute(&ExecuteRequest::shell("true")).await.unwrap_err().kind(), ErrorKind::TooLarge);
}

/// The clock of this test runs as fast as nothing else happens.
#[tokio::test(start_paused = true)]
async fn an_answer_that_never_comes_is_not_waited_for() {
    let error = connect(|_| never()).await.unwrap_err();
    assert_eq!(error.sentence(), "the sandbox did not answer within 20 s");
    let remote = after_greeting(never).await;
    let calls = async {
        [
            remote.stat(&at("/a")).await.map(drop),
            remote.make_dir(&at("/a")).await,
            remote.usage().await.map(drop),
            remote.grep(&at("/"), &GrepRequest::literal("x")).await.map(drop),
        ]
    };
    for call in calls.await {
        assert_eq!(call.unwrap_err().kind(), ErrorKind::TimedOut);
    }
    // The caller of a command waits as long as it takes, and says when not.
    let command = ExecuteRequest::shell("sleep infinity");
    assert!(timeout(Duration::from_secs(100_000), remote.execute(&command)).await.is_err());
}

#[tokio::test]
async fn what_a_terminal_would_act_upon_is_escaped() {
    let wild = r"\u001b]0;title\u0007\u001b[2J\u202e\r";
    let shown = "\\u{1b}]0;title\\u{7}\\u{1b}[2J\\u{202e}\\r";
    let error = format!(r#"{{"kind": "not_found", "sentence": "{wild}\nline", "hint": "{wild}"}}"#);
    let refusing = move || {
        let mut response = Response::new(Body::from(error.clone()));
        *response.status_mut() = StatusCode::NOT_FOUND;
        response
    };
    for error in all_calls(&after_greeting(refusing).await).await {
        assert_eq!(error.sentence(), format!("{shown}\nline"));
        assert_eq!(error.hint_text(), Some(shown));
    }
    let greeting = GREETING.replace(r#""lacking": []"#, &format!(r#""lacking": ["{wild}"]"#));
    let remote = connect(move |_| Response::new(Body::from(greeting.clone()))).await.unwrap();
    assert_eq!(remote.isolation_at_start().lacking, [shown]);
    assert_eq!(remote.directory_at_start(), &path("/w"));
}

#[tokio::test]
async fn long_errors_are_cut() {
    let error = format!(r#"{{"kind": "io", "sentence": "{}"}}"#, "x".repeat(500_000));
    let refusing = move || {
        let mut response = Response::new(Body::from(error.clone()));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    };
    let error = after_greeting(refusing).await.usage().await.unwrap_err();
    assert_eq!(error.sentence().len(), 16_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_answer_makes_the_client_panic(body in proptest::collection::vec(any::<u8>(), 0..300), status in 100_u16..600) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let answer = move || {
                let mut response = Response::new(Body::from(body.clone()));
                *response.status_mut() = StatusCode::from_u16(status.max(200)).unwrap();
                response
            };
            let remote = after_greeting(answer).await;
            drop(remote.stat(&at("/a")).await);
            drop(remote.usage().await);
            drop(remote.grep(&at("/"), &GrepRequest::literal("x")).await);
            drop(remote.execute(&ExecuteRequest::shell("true")).await);
        });
    }
}
