//! A server that answers what a test says, one answer a request, and keeps what it was asked.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use workden_core::ErrorKind;

use super::{Api, ApiKey, CreateSandbox, Progress, Toolbox};

const KEY: &str = "dtn_0123456789";

/// What the server does with a request.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// Answers with this status, these headers and this body.
    Say(u16, &'static str, &'static str),
    /// Closes the connection without a byte.
    Close,
    /// Closes it after a part of the answer.
    CloseWithin,
    /// Sends nothing, and keeps the connection.
    Hang,
}

struct Scripted {
    api: Api,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// Starts a server with these answers; the last one is for all further requests.
    async fn start(answers: Vec<Then>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = Api::new(ApiKey::new(KEY).unwrap(), &format!("http://{}/api/", listener.local_addr().unwrap()));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut hanging = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                while let Some(request) = request(&mut stream).await {
                    let nth = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(request);
                        seen.len() - 1
                    };
                    match answers[nth.min(answers.len() - 1)] {
                        Then::Say(status, more, body) => {
                            let length = body.len();
                            let said = format!("HTTP/1.1 {status} x\r\ncontent-length: {length}\r\n{more}\r\n{body}");
                            stream.write_all(said.as_bytes()).await.unwrap();
                        }
                        Then::Close => break,
                        Then::CloseWithin => {
                            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{").await;
                            break;
                        }
                        Then::Hang => {
                            hanging.push(stream);
                            break;
                        }
                    }
                }
            }
        });
        Self { api: api.unwrap(), asked }
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    fn toolbox(&self) -> Toolbox {
        Toolbox::new(self.api.clone(), format!("{}/toolbox", self.api.url))
    }
}

/// Reads one request, with its body.
async fn request(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).to_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(String::from_utf8_lossy(&read).into_owned());
            }
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

const SANDBOX: Then = Then::Say(200, "", r#"{"id":"1","state":"started"}"#);

#[tokio::test]
async fn a_read_is_repeated_after_overload_and_broken_connections() {
    let busy = Then::Say(429, "retry-after: 0\r\n", "{}");
    let server = Scripted::start(vec![busy, Then::Say(503, "", ""), Then::Close, Then::CloseWithin, SANDBOX]).await;
    assert_eq!(server.api.get("a/b").await.unwrap().unwrap().id, "1");
    assert_eq!(server.count(), 5);
    let asked = server.asked.lock().unwrap();
    assert!(asked[0].starts_with("GET /api/sandbox/a%2Fb HTTP/1.1\r\n"), "{}", asked[0]);
    assert!(asked[0].to_lowercase().contains(&format!("authorization: bearer {KEY}\r\n")), "{}", asked[0]);
}

#[tokio::test]
async fn an_order_is_repeated_only_if_no_byte_of_an_answer_came() {
    let server = Scripted::start(vec![Then::Close, Then::Say(200, "", "{}")]).await;
    server.api.stop("1").await.unwrap();
    assert_eq!(server.count(), 2);
    for answer in [Then::CloseWithin, Then::Say(503, "", "")] {
        let server = Scripted::start(vec![answer, SANDBOX]).await;
        let failed = match answer {
            Then::CloseWithin => server.api.create(&CreateSandbox::default()).await.map(drop),
            _ => server.api.stop("1").await,
        };
        assert!(!failed.unwrap_err().had_no_effect());
        assert_eq!(server.count(), 1, "{answer:?}");
    }
}

#[tokio::test]
async fn a_command_is_repeated_only_if_the_service_refused_it_or_was_not_reached() {
    let server = Scripted::start(vec![Then::Close, Then::Say(200, "", r#"{"exitCode":0}"#)]).await;
    let failed = server.toolbox().execute("true", None, Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((failed.progress, failed.error.kind()), (Progress::NoAnswer, ErrorKind::Unreachable));
    assert_eq!(server.count(), 1);
    let busy = Then::Say(429, "", "");
    let server = Scripted::start(vec![busy, Then::Say(200, "", r#"{"exitCode":7,"result":"x"}"#)]).await;
    let done = server.toolbox().execute("true", None, Duration::from_secs(5)).await.unwrap();
    assert_eq!((done, server.count()), (Some((7, "x".to_owned())), 2));
}

#[tokio::test]
async fn a_server_that_asks_for_too_long_a_pause_is_not_waited_for() {
    let server = Scripted::start(vec![Then::Say(429, "retry-after: 18446744073709551615\r\n", "{}")]).await;
    let error = server.api.get("1").await.unwrap_err();
    assert_eq!((error.kind(), server.count()), (ErrorKind::Busy, 1));
}

#[tokio::test]
async fn a_connection_that_hangs_ends_at_the_deadline() {
    let server = Scripted::start(vec![Then::Hang]).await;
    let began = Instant::now();
    // The time of the command, and ten seconds for the answer.
    let failed = server.toolbox().execute("true", None, Duration::from_millis(1)).await.unwrap_err();
    assert_eq!((failed.error.kind(), server.count()), (ErrorKind::TimedOut, 1));
    assert!(began.elapsed() >= Duration::from_secs(10));
}

#[tokio::test]
async fn the_key_is_in_no_message() {
    for (status, kind) in [
        (400, ErrorKind::InvalidArgument),
        (401, ErrorKind::PermissionDenied),
        (402, ErrorKind::LimitNotHeld),
        (404, ErrorKind::NotFound),
        (409, ErrorKind::Conflict),
        (302, ErrorKind::Io),
    ] {
        let body = r#"{"message":"invalid token dtn_0123456789"}"#;
        let server = Scripted::start(vec![Then::Say(status, "", body)]).await;
        let failed = server.api.create(&CreateSandbox::default()).await.unwrap_err();
        assert_eq!(failed.error.kind(), kind, "{status}");
        let told = format!("{failed:?} {} {:?}", failed.error, server.api);
        assert!(!told.contains(KEY) && told.contains("invalid token [key]"), "{told}");
    }
    let server = Scripted::start(vec![Then::Say(200, "", r#"{"dtn_0123456789":1}"#)]).await;
    let error = server.api.get("1").await.unwrap_err();
    assert!(error.sentence().contains("invalid answer") && !format!("{error:?}").contains(KEY), "{error:?}");
}

#[tokio::test]
async fn a_secret_that_the_service_repeats_is_in_no_message() {
    let server = Scripted::start(vec![Then::Say(400, "", r#"{"message":"invalid data s3cret"}"#)]).await;
    let failed = server.toolbox().send_secret("1", "2", "s3cret").await.unwrap_err();
    assert_eq!(failed.error.kind(), ErrorKind::InvalidArgument);
    assert!(failed.error.sentence().ends_with("Daytona answered HTTP 400"), "{failed:?}");
    assert!(server.asked.lock().unwrap()[0].contains("s3cret"));
}

#[tokio::test]
async fn a_toolbox_that_is_not_encrypted_does_not_get_the_key_of_one_that_is() {
    let api = Api::new(ApiKey::new(KEY).unwrap(), "https://api.example/api").unwrap();
    let told = r#"{"id":"a b","toolboxProxyUrl":"http://elsewhere.example/toolbox"}"#;
    assert!(api.toolbox_url(&serde_json::from_str(told).unwrap()).await.is_err());
    let told = told.replace("http://", "https://");
    let url = api.toolbox_url(&serde_json::from_str(&told).unwrap()).await.unwrap();
    assert_eq!(url, "https://elsewhere.example/toolbox/a%20b");
}

#[tokio::test]
async fn the_port_of_a_sandbox_is_as_encrypted_as_the_api() {
    let server = Scripted::start(vec![Then::Say(200, "", r#"{"url":"ftp://x/","token":"t"}"#)]).await;
    let refused = server.api.preview("1", 7).await.err().unwrap();
    assert_eq!(refused.error.kind(), ErrorKind::Unsupported, "{}", refused.error);
    for (api, url, is_safe) in [
        ("http://a/", "http://b/", true),
        ("http://a/", "https://b/", true),
        ("https://a/", "https://b/", true),
        ("https://a/", "http://b/", false),
    ] {
        let api = Api::new(ApiKey::new(KEY).unwrap(), api).unwrap();
        assert_eq!(api.is_safe(url), is_safe, "{api:?} {url}");
    }
}

#[tokio::test]
async fn a_name_of_dots_stays_one_segment() {
    let server = Scripted::start(vec![SANDBOX]).await;
    for (name, path) in [("..", "/api/sandbox/%2E%2E"), (".", "/api/sandbox/%2E"), ("a.b", "/api/sandbox/a.b")] {
        server.api.get(name).await.unwrap();
        let asked = server.asked.lock().unwrap().pop().unwrap();
        assert!(asked.starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{asked}");
    }
}

#[test]
fn an_address_that_is_none_is_refused() {
    for url in ["", "app.daytona.io", "ftp://a/b", "https://", "https://a/?b=c"] {
        let error = Api::new(ApiKey::new(KEY).unwrap(), url).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{url}");
    }
}
