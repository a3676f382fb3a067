//! Quotas: a client uses no more than its share, and others are served.

use std::time::Duration;

use reqwest::StatusCode;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequest, ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams, ElicitResult,
        ElicitationCapability, Implementation,
    },
    service::{PeerRequestOptions, RequestContext, RequestHandle, RunningService},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
use workden::Preset;
use workden_mcp::{HttpAccess, HttpOptions, HttpServer, McpServer, serve_http};

use crate::{
    client::{Revision, User, calling, failure, kind, said, text, yes},
    http::{anywhere, connect, posted},
    raw_lines::{RawClient, request},
    test_workspace::{DEADLINE, TestWorkspace, gone, process_in, serving},
};

fn asking(place: &TestWorkspace) -> McpServer {
    serving(&place.builder().preset(Preset::Default).build().unwrap())
}

/// A client whose user never answers.
#[derive(Clone, Debug)]
struct Absent;

impl ClientHandler for Absent {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.elicitation = Some(ElicitationCapability::default());
        ClientConfig::new(capabilities, Implementation::new("absent", "1"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        std::future::pending().await
    }
}

async fn absent(server: &McpServer) -> RunningService<RoleClient, Absent> {
    use rmcp::ServiceExt;
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(theirs);
    let server = server.clone();
    tokio::spawn(async move { workden_mcp::serve_streams(&server, input, output).await.unwrap() });
    Absent.serve(ours).await.unwrap()
}

async fn started(
    client: &RunningService<RoleClient, Absent>,
    tool: &str,
    arguments: Value,
) -> RequestHandle<RoleClient> {
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(calling(tool, arguments)));
    client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap()
}

#[tokio::test]
async fn open_questions_block_no_other_call() {
    let place = TestWorkspace::new();
    let server = asking(&place);
    let absent = absent(&server).await;
    let mut open = Vec::new();
    for number in 0..100 {
        open.push(started(&absent, "write_file", json!({ "path": format!("n{number}"), "content": "x" })).await);
    }
    let other = User::silent().connect(&server, Revision::Handshake).await;
    timeout(DEADLINE, text(&other, "ls", json!({}))).await.unwrap();
    // Nor do they block the client that left them open.
    timeout(DEADLINE, absent.call_tool(calling("ls", json!({})))).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_has_its_share_of_calls_at_a_time() {
    let place = TestWorkspace::new();
    let server = place.server();
    let busy = absent(&server).await;
    let mut running = Vec::new();
    for _ in 0..64 {
        let sleep = json!({ "command": "sleep 300; true", "timeout": 600 });
        running.push(started(&busy, "execute", sleep).await);
    }
    let other = User::silent().connect(&server, Revision::Handshake).await;
    timeout(DEADLINE, text(&other, "ls", json!({}))).await.unwrap();
    let mine = timeout(Duration::from_millis(300), busy.call_tool(calling("ls", json!({})))).await;
    assert!(mine.is_err(), "its own share is taken");
}

#[tokio::test]
async fn a_question_without_an_answer_times_out() {
    let place = TestWorkspace::new();
    let server = asking(&place).question_timeout(Duration::from_millis(100));
    let absent = absent(&server).await;
    let refused =
        timeout(DEADLINE, absent.call_tool(calling("write_file", json!({ "path": "a", "content": "x" })))).await;
    let refused = refused.unwrap().unwrap();
    assert_eq!(kind(&refused), "approval_needed");
    assert!(said(&refused).contains("the question timed out after"), "{refused:?}");
    assert!(!place.path("a").exists());
}

#[tokio::test]
async fn calls_that_wait_hold_a_bounded_number_of_bytes() {
    let place = TestWorkspace::new();
    let mut line = RawClient::over(asking(&place));
    line.initialize_with(&json!({ "elicitation": {} })).await;
    // The tool ignores the rest of the parameters, but they are held all the same.
    let large = "x".repeat(7 * 1024 * 1024);
    let call = |id: u64| {
        let arguments = json!({ "path": format!("a{id}"), "content": "x" });
        request(id, "tools/call", &json!({ "name": "write_file", "arguments": arguments, "more": large }))
    };
    // Four of them ask, and a fifth exceeds the quota.
    let mut questions = Vec::new();
    for id in 1..=4 {
        line.send(call(id)).await;
        let question = line.next().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        questions.push(question["id"].clone());
    }
    line.send(call(5)).await;
    let refused = timeout(DEADLINE, line.answer(5)).await.unwrap();
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    // The answer that frees bytes is still read.
    line.send(json!({ "jsonrpc": "2.0", "id": questions[0], "result": { "action": "decline" } }).to_string()).await;
    assert_eq!(line.answer(1).await["result"]["isError"], true);
    line.send(call(6)).await;
    assert_eq!(line.next().await["method"], "elicitation/create");
}

#[tokio::test]
async fn a_request_that_cannot_be_decoded_is_answered() {
    let place = TestWorkspace::new();
    let mut line = RawClient::to(&place);
    line.initialize().await;
    for (id, params, code) in [
        (1, r#"{"name":"write_file","arguments":{"path":"z\ud800","content":"x"}}"#.to_owned(), -32700),
        (2, "[".repeat(200_000) + &"]".repeat(200_000), -32700),
        (3, "{".to_owned(), -32700),
    ] {
        line.send(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)).await;
        let answer = timeout(DEADLINE, line.answer(id)).await.unwrap();
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    line.send(br#"{"id":4,"method":"tools/list","jsonrpc":"1.0"}"#).await;
    assert_eq!(timeout(DEADLINE, line.answer(4)).await.unwrap()["error"]["code"], -32600);
}

#[tokio::test]
async fn an_answer_that_cannot_be_decoded_does_not_approve() {
    let place = TestWorkspace::new();
    let mut line = RawClient::over(asking(&place));
    line.initialize_with(&json!({ "elicitation": {} })).await;
    let call = json!({ "name": "write_file", "arguments": { "path": "a", "content": "x" } });
    line.send(request(1, "tools/call", &call)).await;
    let id = line.next().await["id"].clone();
    line.send(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"action":"accept","content":{{"remember":"\ud800"}}}}}}"#
    ))
    .await;
    let refused = timeout(DEADLINE, line.answer(1)).await.unwrap();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    assert!(!place.path("a").exists());
}

#[tokio::test]
async fn calls_are_answered_after_the_end_of_input() {
    let place = TestWorkspace::new();
    // The default is too short for a busy machine.
    let mut line = RawClient::over(place.server().drain_time(DEADLINE));
    line.initialize().await;
    line.send(request(1, "tools/call", &json!({ "name": "ls", "arguments": {} }))).await;
    line.input.shutdown().await.unwrap();
    assert!(line.answer(1).await["result"]["content"].is_array());
    line.server.abort();
}

#[tokio::test]
async fn the_end_of_input_ends_commands() {
    let place = TestWorkspace::new();
    let mut line = RawClient::to(&place);
    line.initialize().await;
    let sleep = json!({ "name": "execute", "arguments": { "command": "echo $$ > shell; sleep 300; true" } });
    line.send(request(1, "tools/call", &sleep)).await;
    let shell = process_in(&place.path("shell")).await;
    line.input.shutdown().await.unwrap();
    gone(&shell).await;
    timeout(DEADLINE, line.server).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_listing_of_resources_does_not_ask() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let workspace = place.builder().preset(Preset::Strict).build().unwrap();
        let user = User::answering([yes()]);
        let client = user.clone().connect(&serving(&workspace), revision).await;
        let refused = client.list_resources(None).await.unwrap_err().to_string();
        assert!(refused.contains("a listing of resources cannot ask"), "{revision:?}: {refused}");
        assert!(user.asked().is_empty());
    }
}

#[tokio::test]
async fn a_round_without_an_answer_does_not_use_up_the_state() {
    let place = TestWorkspace::new();
    let user = User::answering([yes()]);
    let client = user.connect(&asking(&place), Revision::Stateless).await;
    let write = || calling("write_file", json!({ "path": "a", "content": "x" }));
    let rmcp::model::CallToolResponse::InputRequired(first) = client.call_tool_once(write()).await.unwrap() else {
        panic!("no question")
    };
    let state = first.request_state.unwrap();
    let mut again = write();
    again.request_state = Some(state.clone());
    client.call_tool_once(again).await.unwrap();
    // The person answers the first question after all.
    let mut answered = write();
    answered.request_state = Some(state);
    answered.input_responses = Some([("approval".to_owned(), yes())].into());
    client.call_tool_once(answered).await.unwrap();
    assert_eq!(std::fs::read_to_string(place.path("a")).unwrap(), "x");
}

async fn open(server: &McpServer, change: impl FnOnce(&mut HttpOptions)) -> HttpServer {
    let mut options = HttpOptions::new(HttpAccess::ThisMachine);
    change(&mut options);
    serve_http(server, anywhere(), options).await.unwrap()
}

#[tokio::test]
async fn open_questions_block_no_other_call_over_http() {
    let place = TestWorkspace::new();
    let server = open(&asking(&place), |_| {}).await;
    let session = posted(&server, None, &initialize("a", &json!({ "elicitation": {} }))).await;
    let session = session.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    posted(&server, Some(&session), &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    let mut connections = Vec::new();
    for id in 0..70 {
        let call = json!({ "name": "write_file", "arguments": { "path": format!("n{id}"), "content": "x" } });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
        connections.push(posted(&server, Some(&session), &call).await);
    }
    let client = connect(User::silent(), &server, Revision::Handshake).await;
    timeout(DEADLINE, text(&client, "ls", json!({}))).await.unwrap();
    drop(connections);
    timeout(DEADLINE, text(&client, "ls", json!({}))).await.unwrap();
}

fn initialize(name: &str, capabilities: &Value) -> Value {
    let client = json!({ "name": name, "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": capabilities, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

#[tokio::test]
async fn sessions_are_bounded_in_number_and_size() {
    let place = TestWorkspace::new();
    let server = open(&place.server(), |options| options.sessions = 4).await;
    let large = posted(&server, None, &initialize(&"x".repeat(100_000), &json!({}))).await;
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let client = connect(User::silent(), &server, Revision::Handshake).await;
    text(&client, "ls", json!({})).await;
    let mut sessions = Vec::new();
    for _ in 0..10 {
        let started = posted(&server, None, &initialize("x", &json!({}))).await;
        sessions.push(started.headers()["mcp-session-id"].to_str().unwrap().to_owned());
    }
    let ping = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    // A session ends after the one that takes its place has started: the count falls to three, and stays there.
    let open = async || {
        let mut open = 0;
        for session in &sessions {
            open += usize::from(posted(&server, Some(session), &ping).await.status() != StatusCode::NOT_FOUND);
        }
        open
    };
    timeout(DEADLINE, async { while open().await > 3 {} }).await.unwrap();
    assert_eq!(open().await, 3, "the newest, beside the one that is in use");
    text(&client, "ls", json!({})).await;
}

#[tokio::test]
async fn messages_beyond_the_quota_are_refused_over_http() {
    let place = TestWorkspace::new();
    let server = open(&asking(&place), |_| {}).await;
    let mut uploads = Vec::new();
    for _ in 0..8 {
        let mut upload = TcpStream::connect(server.address()).await.unwrap();
        let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                    Accept: application/json, text/event-stream\r\nContent-Length: 16777216\r\n\r\n{";
        upload.write_all(head.as_bytes()).await.unwrap();
        uploads.push(upload);
    }
    let large = json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "params": { "x": "x".repeat(1_000_000) } });
    let refused = async {
        // The server may not have read the headers of the uploads yet.
        while posted(&server, None, &large).await.status() != StatusCode::SERVICE_UNAVAILABLE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, refused).await.unwrap();
    let client = connect(User::silent(), &server, Revision::Handshake).await;
    text(&client, "ls", json!({})).await;
    drop(uploads);
    let taken = async {
        while posted(&server, None, &large).await.status() == StatusCode::SERVICE_UNAVAILABLE {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(DEADLINE, taken).await.unwrap();
}

/// A connection that never finishes its headers.
async fn slow(server: &HttpServer) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: ").await.unwrap();
    stream
}

#[tokio::test]
async fn headers_that_never_end_are_not_waited_for() {
    let place = TestWorkspace::new();
    let server = open(&place.server(), |options| options.headers_timeout = Duration::from_millis(200)).await;
    let mut slow = slow(&server).await;
    let mut rest = Vec::new();
    // A closed connection, or a reset one.
    let _ = timeout(DEADLINE, slow.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
}

#[tokio::test]
async fn connections_without_a_request_keep_no_client_out() {
    let place = TestWorkspace::new();
    let server = open(&place.server(), |options| options.connections = 4).await;
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(slow(&server).await);
    }
    let client = timeout(DEADLINE, connect(User::silent(), &server, Revision::Stateless)).await.unwrap();
    timeout(DEADLINE, text(&client, "ls", json!({}))).await.unwrap();
    let mut rest = Vec::new();
    let _ = timeout(DEADLINE, strangers[0].read_to_end(&mut rest)).await.unwrap();
    assert!(failure(&client, "read_file", json!({ "path": "nothing" })).await.contains("nothing"));
}
