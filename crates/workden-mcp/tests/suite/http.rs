//! Over HTTP: access, and the same calls as over streams.

use std::net::SocketAddr;

use http::{HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use rmcp::{
    ClientServiceExt,
    model::{CallToolRequest, ClientRequest},
    service::PeerRequestOptions,
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::{Value, json};
use workden::Preset;
use workden_mcp::{BearerToken, HttpAccess, HttpOptions, HttpServer, McpServer, serve_http};

use crate::{
    client::{Client, Revision, User, call, calling, no, text, yes},
    test_workspace::{TestWorkspace, gone, process_in, serving},
};

const TOKEN: &str = "a-token-for-tests-only";

pub(crate) fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

async fn serve(server: &McpServer) -> HttpServer {
    let access = HttpAccess::Token(BearerToken::new(TOKEN).unwrap());
    serve_http(server, anywhere(), HttpOptions::new(access)).await.unwrap()
}

pub(crate) async fn connect(user: User, server: &HttpServer, revision: Revision) -> Client {
    let config = StreamableHttpClientTransportConfig::with_uri(server.url()).auth_header(TOKEN);
    let transport = StreamableHttpClientTransport::with_client(reqwest::Client::new(), config);
    user.serve_with_lifecycle(transport, revision.lifecycle()).await.unwrap()
}

/// A message, by hand, and without a token.
pub(crate) async fn posted(server: &HttpServer, session: Option<&str>, message: &Value) -> Response {
    let request = reqwest::Client::new()
        .post(server.url())
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(message.to_string());
    let request = session.into_iter().fold(request, |request, session| request.header("mcp-session-id", session));
    request.send().await.unwrap()
}

/// The first request of a client, with these headers; what comes back.
async fn initialize(server: &HttpServer, headers: &[(&str, &str)]) -> (StatusCode, String) {
    let answer = first_request(server, headers).await;
    (answer.status(), answer.text().await.unwrap())
}

async fn first_request(server: &HttpServer, headers: &[(&str, &str)]) -> Response {
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string();
    let mut request = reqwest::Client::new()
        .request(Method::POST, server.url())
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(body);
    for (name, value) in headers {
        request = request.header(name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn the_same_calls_work_over_http() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let server = serve(&place.server()).await;
        let client = connect(User::silent(), &server, revision).await;
        assert!(client.list_all_tools().await.unwrap().iter().any(|tool| tool.name == "execute"));
        text(&client, "write_file", json!({ "path": "a.txt", "content": "over http\n" })).await;
        assert!(text(&client, "read_file", json!({ "path": "a.txt" })).await.contains("over http"));
        assert_eq!(text(&client, "execute", json!({ "command": "cat a.txt" })).await, "over http\n");
        let large = "x".repeat(5 * 1024 * 1024);
        text(&client, "write_file", json!({ "path": "large.txt", "content": large })).await;
        client.cancel().await.unwrap();
        server.stop().await.unwrap();
    }
}

#[tokio::test]
async fn approvals_are_asked_for_over_http() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let workspace = place.builder().preset(Preset::Default).build().unwrap();
        let server = serve(&serving(&workspace)).await;
        let user = User::answering([yes(), no()]);
        let client = connect(user.clone(), &server, revision).await;
        text(&client, "execute", json!({ "command": "touch made" })).await;
        assert!(place.path("made").exists());
        assert_eq!(call(&client, "execute", json!({ "command": "rm made" })).await.is_error, Some(true));
        assert!(place.path("made").exists() && user.asked().len() == 2);
    }
}

#[tokio::test]
async fn a_cancelled_command_is_ended_over_http() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let server = serve(&place.server()).await;
        let client = connect(User::silent(), &server, revision).await;
        let sleep = json!({ "command": "echo $$ > shell; sleep 300; true", "timeout": 600 });
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(calling("execute", sleep)));
        let running = client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap();
        let shell = process_in(&place.path("shell")).await;
        running.cancel(None).await.unwrap();
        gone(&shell).await;
    }
}

#[tokio::test]
async fn a_server_that_stops_ends_what_runs() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let server = serve(&place.server()).await;
        let client = connect(User::silent(), &server, revision).await;
        let running = tokio::spawn(async move {
            let sleep = json!({ "command": "echo $$ > shell; sleep 300; true", "timeout": 600 });
            let _ = client.call_tool(calling("execute", sleep)).await;
        });
        let shell = process_in(&place.path("shell")).await;
        server.stop().await.unwrap();
        gone(&shell).await;
        running.abort();
    }
}

#[tokio::test]
async fn a_closed_session_is_gone() {
    let place = TestWorkspace::new();
    let server = serve(&place.server()).await;
    let token = format!("Bearer {TOKEN}");
    let started = first_request(&server, &[("authorization", &token)]).await;
    let session = started.headers()["mcp-session-id"].clone();
    let close = reqwest::Client::new().delete(server.url()).header("authorization", &token);
    let closed = close.header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(closed.status(), StatusCode::NO_CONTENT);
    let pinged = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }).to_string();
    let ping = reqwest::Client::new().post(server.url()).header("authorization", &token).body(pinged);
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    let ping = headers.into_iter().fold(ping, |ping, (name, value)| ping.header(name, value));
    let answer = ping.header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_request_without_the_token_learns_nothing() {
    let place = TestWorkspace::new();
    let server = serve(&place.server()).await;
    for headers in [
        &[][..],
        &[("authorization", "Bearer wrong-wrong-wrong")],
        &[("authorization", "Basic YTph")],
        &[("authorization", "Bearer a-token-for-tests-onl")],
        &[("authorization", "Bearer a-token-for-tests-only "), ("authorization", "Bearer x")],
    ] {
        let (status, said) = initialize(&server, headers).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{headers:?}");
        assert!(!said.contains("serverInfo") && !said.contains(TOKEN), "{said}");
    }
    let (status, said) = initialize(&server, &[("authorization", &format!("Bearer {TOKEN}"))]).await;
    assert!(status == StatusCode::OK && said.contains("workden"), "{said}");
    // On other paths and with other methods as well.
    for (method, path) in
        [(Method::GET, "/mcp"), (Method::DELETE, "/mcp"), (Method::GET, "/"), (Method::OPTIONS, "/mcp")]
    {
        let url = format!("http://{}{path}", server.address());
        let answer = reqwest::Client::new().request(method, url).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn a_page_in_a_browser_is_refused() {
    let place = TestWorkspace::new();
    let mut options = HttpOptions::new(HttpAccess::ThisMachine);
    options.allowed_hosts = vec!["den.example".to_owned()];
    options.allowed_origins = vec!["https://page.example".to_owned()];
    let server = serve_http(&place.server(), anywhere(), options).await.unwrap();
    let port = server.address().port();
    for headers in [
        &[("host", "evil.example")][..],
        &[("host", "localhost.evil.example")],
        &[("host", "127.0.0.1.nip.example")],
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", "http://page.example")],
        &[("origin", "https://page.example.evil.example")],
    ] {
        assert_eq!(initialize(&server, headers).await.0, StatusCode::FORBIDDEN, "{headers:?}");
    }
    for headers in [
        [("host", "localhost"), ("host", "evil.example")],
        [("origin", "https://page.example"), ("origin", "https://evil.example")],
    ] {
        assert_eq!(initialize(&server, &headers).await.0, StatusCode::BAD_REQUEST, "{headers:?}");
    }
    for headers in [
        &[][..],
        &[("host", &*format!("localhost:{port}"))],
        &[("host", "den.example")],
        &[("origin", "https://page.example")],
    ] {
        assert_eq!(initialize(&server, headers).await.0, StatusCode::OK, "{headers:?}");
    }
}

#[tokio::test]
async fn by_default_no_origin_is_allowed() {
    let place = TestWorkspace::new();
    let server = serve(&place.server()).await;
    let token = format!("Bearer {TOKEN}");
    let origin = format!("http://{}", server.address());
    let refused = initialize(&server, &[("authorization", &token), ("origin", &origin)]).await;
    assert_eq!(refused.0, StatusCode::FORBIDDEN);
    assert_eq!(
        initialize(&server, &[("authorization", &token), ("host", "evil.example")]).await.0,
        StatusCode::FORBIDDEN
    );
}

#[tokio::test]
async fn an_open_address_requires_a_token() {
    let place = TestWorkspace::new();
    let open = SocketAddr::from(([0, 0, 0, 0], 0));
    let refused = serve_http(&place.server(), open, HttpOptions::new(HttpAccess::ThisMachine)).await.unwrap_err();
    assert!(refused.to_string().contains("without a token"), "{refused}");
    let taken = serve(&place.server()).await;
    let access = HttpOptions::new(HttpAccess::ThisMachine);
    let busy = serve_http(&place.server(), taken.address(), access).await.unwrap_err();
    assert_eq!(busy.kind(), workden::ErrorKind::Busy, "{busy}");
}

#[tokio::test]
async fn a_body_that_is_too_large_or_not_json_is_refused() {
    let place = TestWorkspace::new();
    let server = serve_http(&place.server(), anywhere(), HttpOptions::new(HttpAccess::ThisMachine)).await.unwrap();
    let post = |body: Vec<u8>| {
        let request = reqwest::Client::new().post(server.url()).header("content-type", "application/json");
        request.header("accept", "application/json, text/event-stream").body(body).send()
    };
    for body in [b"garbage".to_vec(), b"{}".to_vec(), vec![0xff; 100], vec![b'x'; 17 * 1024 * 1024]] {
        // The connection may be closed while the client is still sending.
        if let Ok(answer) = post(body).await {
            assert!(answer.status().is_client_error(), "{answer:?}");
        }
    }
    let client = connect(User::silent(), &server, Revision::Handshake).await;
    text(&client, "ls", json!({})).await;
}
