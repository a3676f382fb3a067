//! Who may speak to whom: versions and tokens.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{body::Body, response::Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use workden_core::{Error, ErrorKind, Sandbox};
use workden_wire::{RemoteSandbox, ServeOptions, TokenHash};

use crate::{
    pipes::{in_memory, in_memory_files, served},
    scripted::Scripted,
};

/// What a client says of a server that greets like this.
async fn greeted_with(greeting: &'static str) -> Error {
    let (near, far) = in_memory();
    let service =
        hyper::service::service_fn(move |_| async move { Ok::<_, Infallible>(Response::new(Body::from(greeting))) });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    tokio::spawn(async move { server.serve_connection(TokioIo::new(far), service).await });
    RemoteSandbox::connect(near, None).await.unwrap_err()
}

#[tokio::test]
async fn another_version_is_refused_with_both_numbers() {
    let error = greeted_with(r#"{"protocol": 99, "of": "tomorrow"}"#).await;
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        error.to_string(),
        "the sandbox speaks version 99 of the protocol, and this program version 1\n\
         hint: use a keeper and a program of one release"
    );
}

#[tokio::test]
async fn what_greets_otherwise_is_refused() {
    for greeting in ["", "hello", "{}", "[]", "null", r#"{"protocol": "1"}"#, r#"{"protocol": -1}"#] {
        let kind = greeted_with(greeting).await.kind();
        assert!(matches!(kind, ErrorKind::Unsupported | ErrorKind::Io), "{greeting}: {kind:?}");
    }
    assert_eq!(greeted_with(r#"{"protocol": 1}"#).await.kind(), ErrorKind::Io);
}

async fn with_token(given: Option<&str>) -> Result<RemoteSandbox, Error> {
    let (near, far) = in_memory();
    let options = ServeOptions::default().token(TokenHash::of("s3cret token"));
    served(Arc::new(Scripted::over(in_memory_files())), far, options);
    RemoteSandbox::connect(near, given).await
}

#[tokio::test]
async fn the_token_opens_every_call() {
    let remote = with_token(Some("s3cret token")).await.unwrap();
    remote.usage().await.unwrap();
}

#[tokio::test]
async fn without_the_right_token_nothing_is_answered() {
    for (given, why) in [
        (None, "cannot use this sandbox: a token is needed"),
        (Some(""), "cannot use this sandbox: the token is not the right one"),
        (Some("s3cret"), "cannot use this sandbox: the token is not the right one"),
        (Some("s3cret token "), "cannot use this sandbox: the token is not the right one"),
    ] {
        let error = with_token(given).await.unwrap_err();
        assert_eq!((error.kind(), error.sentence()), (ErrorKind::PermissionDenied, why), "{given:?}");
        assert!(error.hint_text().is_some());
    }
    assert_eq!(with_token(Some("ü\n")).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_token_where_none_is_wanted_is_fine() {
    let (near, far) = in_memory();
    served(Arc::new(Scripted::over(in_memory_files())), far, ServeOptions::default());
    RemoteSandbox::connect(near, Some("anything")).await.unwrap().jobs().await.unwrap();
}

#[tokio::test]
async fn the_first_call_that_is_let_in_is_heard_of_once_a_connection() {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let counting = ServeOptions::default().on_admission(move || {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let with_a_token = counting.clone().token(TokenHash::of("right"));
    for (options, given, times) in [
        (&with_a_token, None, 0),
        (&with_a_token, Some("wrong"), 0),
        (&with_a_token, Some("right"), 1),
        (&with_a_token, Some("right"), 2),
        (&counting, None, 3),
    ] {
        let (near, far) = in_memory();
        served(Arc::new(Scripted::over(in_memory_files())), far, options.clone());
        if let Ok(remote) = RemoteSandbox::connect(near, given).await {
            remote.usage().await.unwrap();
            remote.jobs().await.unwrap();
        }
        assert_eq!(heard.load(Ordering::Relaxed), times, "{given:?}");
    }
}
