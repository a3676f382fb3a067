//! MCP over HTTP for each session: the tools under its policy, who is asked, and who may not join.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::served::{Caller, Served, text, until};

/// A client of MCP after its handshake.
struct McpClient<'a> {
    caller: &'a Caller<'a>,
    path: String,
    session: String,
}

/// Sends a message. Returns the status, the id of the MCP session and the last message of the answer.
async fn say(caller: &Caller<'_>, path: &str, session: Option<&str>, message: &Value) -> (StatusCode, String, Value) {
    let mut request = caller.request(Method::POST, path).header("accept", "application/json, text/event-stream");
    request = request.header("content-type", "application/json").body(message.to_string());
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status();
    let named = answer.headers().get("mcp-session-id").map_or("", |id| id.to_str().unwrap()).to_owned();
    let body = answer.text().await.unwrap();
    let data = body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
    let last = data.filter_map(|data| serde_json::from_str(data).ok()).next_back();
    (status, named, last.unwrap_or_else(|| serde_json::from_str(&body).unwrap_or(Value::Null)))
}

impl<'a> McpClient<'a> {
    async fn connect(caller: &'a Caller<'a>, session: &str) -> Self {
        Self::connect_at(caller, format!("{session}/mcp")).await
    }

    async fn connect_at(caller: &'a Caller<'a>, path: String) -> Self {
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        } });
        let (status, session, answer) = say(caller, &path, None, &hello).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(say(caller, &path, Some(&session), &ready).await.0, StatusCode::ACCEPTED);
        Self { caller, path, session }
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (status, _, answer) = say(self.caller, &self.path, Some(&self.session), &message).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["result"].clone()
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }
}

#[tokio::test]
async fn an_agent_works_over_mcp_and_its_questions_wait_at_the_desk() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({ "policy": { "preset": "default" } })).await;
    let agent = served.with_key(&token);
    let client = McpClient::connect(&agent, &session).await;
    let tools = client.ask("tools/list", json!({})).await;
    let names: Vec<&str> = tools["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert!(names.contains(&"read_file") && names.contains(&"execute"), "{names:?}");
    let pending = || async { admin.get("/v1/approvals").await.1.as_array().unwrap().clone() };
    let answers = async {
        until("a question", || async { !pending().await.is_empty() }).await;
        let path = format!("/v1/approvals/{}", text(&pending().await[0]["id"]));
        admin.post(&path, json!({ "decision": "approve" })).await.0
    };
    let write = client.call("write_file", json!({ "path": "note", "content": "over mcp\n" }));
    let (written, answered) = tokio::join!(write, answers);
    assert_eq!((answered, &written["isError"]), (StatusCode::OK, &json!(false)), "{written}");
    let read = client.call("read_file", json!({ "path": "note" })).await;
    assert!(text(&read["content"][0]["text"]).contains("over mcp"), "{read}");
    let secret = client.call("write_file", json!({ "path": ".env", "content": "KEY=1" })).await;
    assert_eq!(secret["isError"], true, "{secret}");
    let (_, events) = admin.get(&format!("{session}/events")).await;
    let by_agent = |event: &Value| event["data"]["call"] == "write" && text(&event["actor"]).starts_with("session:");
    assert!(events.as_array().unwrap().iter().any(by_agent), "{events}");
}

#[tokio::test]
async fn no_key_joins_the_mcp_session_of_another() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({})).await;
    let agent = served.with_key(&token);
    let client = McpClient::connect(&agent, &session).await;
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for (key, expected) in [(served.key.as_str(), StatusCode::NOT_FOUND), ("e2b_0", StatusCode::UNAUTHORIZED)] {
        let caller = served.with_key(key);
        assert_eq!(say(&caller, &client.path, Some(&client.session), &list).await.0, expected, "{key}");
    }
    let elsewhere = format!("{}/mcp", admin.session(json!({})).await.0);
    assert_eq!(say(&agent, &elsewhere, Some(&client.session), &list).await.0, StatusCode::NOT_FOUND);
    assert_eq!(say(&agent, "/v1/sessions/none/mcp", None, &list).await.0, StatusCode::NOT_FOUND);
    // A page in a browser is no client.
    let page = agent.request(Method::POST, &client.path).header("origin", "http://a.example");
    let page = page.header("accept", "application/json, text/event-stream").header("content-type", "application/json");
    let page = page.header("mcp-session-id", &client.session).body(list.to_string()).send().await.unwrap();
    assert_eq!(page.status(), StatusCode::FORBIDDEN);
    // It ends with its session.
    let end = agent.request(Method::DELETE, &client.path).header("mcp-session-id", &client.session);
    assert_eq!(end.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    assert_eq!(say(&agent, &client.path, Some(&client.session), &list).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_address_and_a_key_are_all_that_an_agent_needs() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let agent = McpClient::connect_at(&admin, "/v1/mcp".to_owned()).await;
    agent.call("write_file", json!({ "path": "note", "content": "kept" })).await;
    let (_, session) = admin.get("/v1/sessions/agent").await;
    assert_eq!(session["state"], "running", "{session}");
    let id = format!("/v1/sessions/{}", text(&session["id"]));
    assert_eq!(admin.run(&id, "cat note").await.1, "kept");
    // Its files are there again after a pause.
    assert_eq!(admin.post(&format!("{id}/pause"), json!({})).await.0, StatusCode::OK);
    let again = McpClient::connect_at(&admin, "/v1/mcp".to_owned()).await;
    let read = again.call("read_file", json!({ "path": "note" })).await;
    assert!(read.to_string().contains("kept"), "{read}");
    // The token of a session has its session, and makes none.
    let token = text(&admin.post("/v1/sessions", json!({})).await.1["token"]);
    assert_eq!(served.with_key(&token).post("/v1/mcp", json!({})).await.0, StatusCode::FORBIDDEN);
}
