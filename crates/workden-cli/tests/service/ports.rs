//! Servers in sessions: who reaches them, what they are told, and what they cannot do.

use futures_util::{SinkExt, StreamExt};
use reqwest::{Client, Method, RequestBuilder, StatusCode, redirect::Policy};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::{
    client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::served::{Caller, Served, StateDirectory, text, until};

/// Answers with what it was asked, and with headers that are not for the service's origin. `/ws` takes a websocket, of
/// which it sends every message back.
const SERVER: &str = r#"
import base64, hashlib, http.server, json, socketserver
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *words): pass
    def do_GET(self):
        if self.path == "/ws":
            return self.websocket()
        if self.path == "/redirect":
            self.send_response(302); self.send_header("Location", "/login"); self.send_header("Content-Length", "0")
            return self.end_headers()
        size = int(self.headers.get("Content-Length") or 0)
        body = json.dumps({"path": self.path, "method": self.command, "headers": {name.lower(): value for name, value in self.headers.items()},
                           "body": self.rfile.read(size).decode()}).encode()
        self.send_response(200)
        for name, value in [("Content-Length", str(len(body))), ("Set-Cookie", "own=1"), ("Alt-Svc", "h3"),
                            ("Clear-Site-Data", '"*"')]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def websocket(self):
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
        self.send_response(101)
        for name, value in [("Upgrade", "websocket"), ("Connection", "Upgrade"),
                            ("Sec-WebSocket-Accept", base64.b64encode(accept.digest()).decode())]:
            self.send_header(name, value)
        self.end_headers()
        while True:
            head = self.rfile.read(2)
            if len(head) < 2: break
            size, mask = head[1] & 127, self.rfile.read(4)
            data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(size)))
            if head[0] & 15 == 8: break
            self.wfile.write(bytes([head[0], size]) + data)
        self.close_connection = True
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
Server(("127.0.0.1", 3000), Handler).serve_forever()
"#;

/// Starts the server in a session, and returns the session's path and its token.
async fn serving(caller: &Caller<'_>) -> (String, String) {
    serving_as(caller, json!({})).await
}

async fn serving_as(caller: &Caller<'_>, new: Value) -> (String, String) {
    let (session, token) = caller.session(new).await;
    assert_eq!(caller.put(&session, "server.py", SERVER).await, StatusCode::OK);
    let (status, started) =
        caller.post(&format!("{session}/jobs"), json!({ "command": "exec python3 server.py" })).await;
    assert!(status.is_success(), "{started}");
    let path = format!("{session}/ports/3000/");
    until("the server listens", async || caller.get(&path).await.0 == StatusCode::OK).await;
    (session, token)
}

fn id(session: &str) -> &str {
    session.rsplit('/').next().unwrap()
}

/// Calls a port by its host name, without a key.
fn by_name(served: &Served, method: Method, session: &str, path: &str) -> RequestBuilder {
    let client = Client::builder().redirect(Policy::none()).build().unwrap();
    let host = format!("3000-{}.localhost", id(session));
    client.request(method, format!("{}{path}", served.url)).header("host", host)
}

#[tokio::test]
async fn a_server_is_reached_below_a_path_and_decides_nothing_for_the_services_origin() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = serving(&admin).await;
    let request = admin.request(Method::POST, &format!("{session}/ports/3000/a/b?x=%20y")).header("cookie", "a=b");
    let answer = request.body("hello").send().await.unwrap();
    let headers = answer.headers().clone();
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("sandbox "), "{headers:?}");
    for name in ["set-cookie", "alt-svc", "clear-site-data"] {
        assert!(!headers.contains_key(name), "{name}");
    }
    let told: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    assert_eq!(
        (&told["path"], &told["method"], &told["body"]),
        (&json!("/a/b?x=%20y"), &json!("POST"), &json!("hello"))
    );
    let said = told["headers"].to_string().to_lowercase();
    assert!(!said.contains("e2b_") && !said.contains("cookie"), "{said}");
    assert_eq!(told["headers"]["host"], "localhost:3000");
    // Of the agent itself, with the token of its session.
    let agent = served.with_key(&token);
    assert_eq!(agent.get(&format!("{session}/ports/3000/")).await.0, StatusCode::OK);
    let (status, missing) = agent.get(&format!("{session}/ports/3001/")).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(missing["error"]["message"], "no server of the sandbox listens on port 3001");
    for port in ["0", "70000", "x"] {
        assert_eq!(agent.get(&format!("{session}/ports/{port}/")).await.0, StatusCode::BAD_REQUEST, "{port}");
    }
    let worker = agent.request(Method::GET, &format!("{session}/ports/3000/sw.js")).header("service-worker", "script");
    assert_eq!(worker.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let redirected = Client::builder().redirect(Policy::none()).build().unwrap();
    let redirected = redirected.get(format!("{}{session}/ports/3000/redirect", served.url)).bearer_auth(&served.key);
    assert_eq!(redirected.send().await.unwrap().headers()["location"], format!("{session}/ports/3000/login"));
}

#[tokio::test]
async fn a_port_is_private_until_it_is_published() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = serving(&admin).await;
    let status = async |request: RequestBuilder| request.send().await.unwrap().status();
    let get = || by_name(&served, Method::GET, &session, "/page?x=1");
    assert_eq!(status(get()).await, StatusCode::UNAUTHORIZED);
    for key in [&served.key, &token] {
        assert_eq!(status(get().bearer_auth(key)).await, StatusCode::OK);
    }
    let (_, other) = admin.post("/v1/keys", json!({ "role": "tenant", "tenant": "other" })).await;
    assert_eq!(status(get().bearer_auth(text(&other["key"]))).await, StatusCode::BAD_GATEWAY, "of another tenant");
    // A browser opens the link, and has a cookie from then on.
    let (_, port) = admin.get(&format!("{session}/ports/3000")).await;
    let link = text(&port["link"]);
    assert!(text(&port["url"]).starts_with(&format!("http://3000-{}.localhost:", id(&session))), "{port}");
    let query = link.split_once("/?").unwrap().1;
    let opened = by_name(&served, Method::GET, &session, &format!("/page?{query}&x=1")).send().await.unwrap();
    assert_eq!(
        (opened.status(), &opened.headers()["location"]),
        (StatusCode::SEE_OTHER, &"/page?x=1".parse().unwrap())
    );
    let cookie = opened.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let seen = get().header("cookie", format!("{cookie}; own=2")).send().await.unwrap();
    assert_eq!((seen.status(), &seen.headers()["set-cookie"]), (StatusCode::OK, &"own=1".parse().unwrap()));
    let told: Value = serde_json::from_str(&seen.text().await.unwrap()).unwrap();
    assert_eq!(told["headers"]["cookie"], "own=2");
    for wrong in ["workden_token=wdp_00", "workden_token="] {
        assert_eq!(status(get().header("cookie", wrong)).await, StatusCode::UNAUTHORIZED, "{wrong}");
    }
    // A request with many tokens is no way to keep the database busy.
    let many = format!("{}{cookie}", "workden_token=a; ".repeat(100));
    assert_eq!(status(get().header("cookie", many)).await, StatusCode::UNAUTHORIZED);
    // The token of another port does not open this one.
    let (_, other) = admin.get(&format!("{session}/ports/3001")).await;
    let other = text(&other["link"]).split_once('?').unwrap().1.to_owned();
    assert_eq!(status(get().header("cookie", &other)).await, StatusCode::UNAUTHORIZED);
    // Only its owner publishes it.
    let path = format!("{session}/ports/3000");
    assert_eq!(served.with_key(&token).call(Method::PUT, &path, None).await.0, StatusCode::FORBIDDEN);
    assert_eq!(admin.call(Method::PUT, &path, None).await.1["published"], true);
    assert_eq!(status(get()).await, StatusCode::OK);
    assert_eq!(admin.get(&format!("{session}/ports")).await.1[0]["port"], 3000);
    assert_eq!(admin.delete(&path).await, StatusCode::NO_CONTENT);
    assert_eq!(status(get()).await, StatusCode::UNAUTHORIZED);
    // Its links have ended with that; those of another port, and the next link of this one, have not.
    assert_eq!(status(get().header("cookie", cookie)).await, StatusCode::UNAUTHORIZED);
    let linked = by_name(&served, Method::GET, &session, &format!("/page?{query}"));
    assert_eq!(status(linked).await, StatusCode::UNAUTHORIZED);
    assert_eq!(text(&admin.get(&format!("{session}/ports/3001")).await.1["link"]).split_once('?').unwrap().1, other);
    let (_, port) = admin.get(&path).await;
    let next = text(&port["link"]).split_once('?').unwrap().1.to_owned();
    assert_eq!(status(get().header("cookie", &next)).await, StatusCode::OK);
    assert_eq!(served.with_key(&token).delete(&path).await, StatusCode::FORBIDDEN, "the agent ends no link");
    // And all links with those of all ports.
    assert_eq!(admin.delete(&format!("{session}/ports/0")).await, StatusCode::NO_CONTENT);
    assert_eq!(status(get().header("cookie", next)).await, StatusCode::UNAUTHORIZED);
    // With the session, everything is gone.
    admin.call(Method::PUT, &path, None).await;
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
    assert_eq!(status(get()).await, StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn a_port_of_a_paused_session_says_that_it_is_paused_to_those_who_may_reach_it() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = serving_as(&admin, json!({ "name": "a-private-name" })).await;
    assert_eq!(admin.post(&format!("{session}/pause"), json!({})).await.0, StatusCode::OK);
    let get = || by_name(&served, Method::GET, &session, "/");
    let stranger = get().send().await.unwrap();
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    assert!(!stranger.text().await.unwrap().contains("paused"));
    let owner = get().bearer_auth(&served.key).send().await.unwrap();
    assert_eq!(owner.status(), StatusCode::CONFLICT);
    let told = owner.text().await.unwrap();
    assert!(told.contains("is paused") && told.contains("/resume"), "{told}");
    admin.call(Method::PUT, &format!("{session}/ports/3000"), None).await;
    let told = get().send().await.unwrap();
    assert_eq!(told.status(), StatusCode::CONFLICT, "everyone may reach it");
    assert!(!told.text().await.unwrap().contains("a-private-name"), "visitors learn the name");
}

#[tokio::test]
async fn a_client_does_not_say_where_it_comes_from_and_a_trusted_proxy_does() {
    let state = StateDirectory::new();
    let config = state.path().join("serve.toml");
    for (toml, expected) in [
        ("", [json!("127.0.0.1"), json!("http"), json!(null)]),
        ("trusted_proxies = [\"127.0.0.1\"]", [json!("10.0.0.1, 127.0.0.1"), json!("https"), json!(null)]),
    ] {
        std::fs::write(&config, toml).unwrap();
        let place = tempfile::tempdir().unwrap();
        let served = Served::start(place.path(), &["--config", config.to_str().unwrap()]);
        let admin = served.admin();
        let (session, _) = serving(&admin).await;
        let by_path = admin.request(Method::GET, &format!("{session}/ports/3000/"));
        let by_name = by_name(&served, Method::GET, &session, "/").bearer_auth(&served.key);
        for request in [by_path, by_name] {
            let request = request.header("x-forwarded-for", "10.0.0.1").header("x-forwarded-proto", "https");
            let request = request.header("x-real-ip", "10.0.0.1").header("forwarded", "for=10.0.0.1");
            let request = request.header("x_forwarded_for", "10.0.0.1").header("x-real_ip", "10.0.0.1");
            let answer = request.header("x-forwarded-host", "evil.example").send().await.unwrap();
            let told: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            let headers = &told["headers"];
            let found = ["x-forwarded-for", "x-forwarded-proto", "x-real-ip"].map(|name| headers[name].clone());
            assert_eq!(found, expected, "{toml:?}: {headers}");
            for name in ["forwarded", "x_forwarded_for", "x-real_ip"] {
                assert_eq!(headers[name], json!(null), "{headers}");
            }
            assert_eq!(headers["x-forwarded-host"] == "evil.example", !toml.is_empty(), "{headers}");
        }
    }
}

#[tokio::test]
async fn a_websocket_goes_through_both_ways() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = serving(&admin).await;
    let address = served.url.strip_prefix("http://").unwrap();
    let by_path = format!("ws://{address}{session}/ports/3000/ws");
    let by_name = format!("ws://{address}/ws");
    for (url, host) in [(by_path, address.to_owned()), (by_name, format!("3000-{}.localhost", id(&session)))] {
        let mut request = url.into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {}", served.key).parse().unwrap());
        request.headers_mut().insert("host", host.parse().unwrap());
        let (mut socket, _) = client_async(request, TcpStream::connect(address).await.unwrap()).await.unwrap();
        for message in ["one", "two"] {
            socket.send(Message::Text(message.into())).await.unwrap();
            assert_eq!(socket.next().await.unwrap().unwrap(), Message::Text(message.into()));
        }
    }
}

#[tokio::test]
async fn requests_that_are_cut_in_two_ways_reach_the_server_once() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = serving(&admin).await;
    admin.call(Method::PUT, &format!("{session}/ports/3000"), None).await;
    let address = served.url.strip_prefix("http://").unwrap();
    let host = format!("3000-{}.localhost", id(&session));
    // Two lengths, a length with chunks, and a header that a second parser would read as the end of the first request.
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    for head in [
        "Content-Length: 0\r\nContent-Length: 38",
        "Content-Length: 38\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: xchunked\r\nContent-Length: 38",
        "Transfer-Encoding : chunked",
        "X: 1\r\n Transfer-Encoding: chunked",
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("POST /first HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{head}\r\n\r\n{smuggled}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::time::timeout(crate::served::PATIENCE, stream.read_to_end(&mut answer)).await.unwrap();
        drop(read);
        let answer = String::from_utf8_lossy(&answer);
        assert!(!answer.contains("\"/smuggled\""), "{head:?}: {answer}");
        assert!(answer.lines().filter(|line| line.starts_with("HTTP/1.1 ")).count() <= 1, "{head:?}: {answer}");
    }
}

#[tokio::test]
async fn a_page_of_a_session_cannot_call_a_service_without_keys() {
    let state = StateDirectory::new();
    let served = Served::start(state.path(), &["--no-key"]);
    let admin = served.with_key("");
    let client = Client::new();
    let call = |origin: &str| client.get(format!("{}/v1/sessions", served.url)).header("origin", origin.to_owned());
    let own = call(&served.url).send().await.unwrap().status();
    assert_eq!(own, StatusCode::OK);
    for origin in ["null", "http://3000-abcdefghijabcdefghij.localhost:8420"] {
        assert_eq!(call(origin).send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{origin}");
    }
    drop(admin);
}
