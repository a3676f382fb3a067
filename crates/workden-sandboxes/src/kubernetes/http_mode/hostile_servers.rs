//! Servers that break the protocol: each is a clear error, within the limits of the call.

use std::time::{Duration, Instant};

use hyper_util::client::legacy::connect::HttpConnector;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use workden_core::{Error, ErrorKind};

use super::{
    messages::{ListRequest, Row},
    server::{CallLimits, Server},
};

const LIMITS: CallLimits = CallLimits { time: Duration::from_millis(500), bytes: 1000 };

/// Asks a server that sends this head and then this body, again and again.
async fn asked(head: &'static str, body: &'static [u8], times: usize) -> Result<Vec<Row>, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(head.as_bytes()).await;
            for _ in 0..times {
                if stream.write_all(body).await.is_err() {
                    break;
                }
            }
            // The connection stays open, as that of a server that hangs.
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    });
    let server = Server::at(authority, HttpConnector::new(), "token").unwrap();
    let began = Instant::now();
    let answer = server.ask("/ls", &ListRequest { path: "/" }, LIMITS).await;
    assert!(began.elapsed() < Duration::from_secs(3), "it took {:?}", began.elapsed());
    answer
}

#[tokio::test]
async fn what_breaks_the_protocol_is_a_clear_error_in_time() {
    let ok = "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n";
    for (head, body, times, kind, says) in [
        (ok, &b"{\"not\": \"a list!!!\"}"[..], 1, ErrorKind::Io, "invalid answer"),
        (ok, b"garbage garbage garb", 1, ErrorKind::Io, "invalid answer"),
        (ok, b"[]", 1, ErrorKind::TimedOut, "`/ls` of the server in the pod timed out"),
        ("", b"", 0, ErrorKind::TimedOut, "timed out"),
        ("HTTP/1.1 200 OK\r\n\r\n", b"aaaaaaaaaa", 1_000_000, ErrorKind::TooLarge, "larger than 1000 bytes"),
        ("not http at all\r\n\r\n", b"", 0, ErrorKind::Unreachable, "does not answer as HTTP"),
        ("HTTP/1.1 401 No\r\ncontent-length: 0\r\n\r\n", b"", 0, ErrorKind::PermissionDenied, "HTTP 401"),
        ("HTTP/1.1 500 No\r\ncontent-length: 13\r\n\r\n", b"{\"detail\":\"\"}", 1, ErrorKind::Io, "HTTP 500"),
        ("HTTP/1.1 500 No\r\n\r\n", b"endless", 1_000_000, ErrorKind::Io, "HTTP 500"),
        ("HTTP/1.1 302 No\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n", b"", 0, ErrorKind::Io, "HTTP 302"),
    ] {
        let error = asked(head, body, times).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{head}: {error:?}");
        assert!(error.sentence().contains(says), "{head}: {error:?}");
        assert!(error.sentence().len() < 1000, "{error:?}");
    }
}

#[tokio::test]
async fn an_answer_is_read() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 37\r\n\r\n";
    let rows = asked(head, br#"[{"name":"a","is_dir":true,"more":0}]"#, 1).await.unwrap();
    assert_eq!((rows[0].name.as_str(), rows[0].is_dir, rows[0].size), ("a", true, None));
}
