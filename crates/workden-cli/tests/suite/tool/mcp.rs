//! `workden mcp`: the printed configurations, a session over pipes and one over HTTP. The tests of the server cover the
//! whole protocol.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Stdio,
};

use serde_json::{Value, json};

use crate::{
    processes::{eventually, is_running, mark},
    project::Project,
    tool::Conversation,
};

fn initialize(talk: &mut Conversation) -> Value {
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let greeting = talk.ask(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }));
    talk.say(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    greeting
}

fn call(talk: &mut Conversation, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    talk.ask(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }))["result"].clone()
}

#[test]
fn a_client_over_pipes_lists_reads_and_runs() {
    let project = Project::with_secret();
    let mut talk = Conversation::with(project.command(&["mcp", "--policy", "permissive"]));
    assert_eq!(initialize(&mut talk)["result"]["serverInfo"]["name"], "workden");
    let listed = talk.ask(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }));
    assert!(listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "execute"), "{listed}");
    let read = call(&mut talk, "read_file", &json!({ "path": "notes.md" }));
    assert_eq!(read["content"][0]["text"], "     1\tremember");
    let ran = call(&mut talk, "execute", &json!({ "command": "whoami" }));
    assert_eq!(ran["content"][0]["text"], "agent\n");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_client_that_cannot_be_asked_hears_what_would_help() {
    let project = Project::with_secret();
    let mut talk = Conversation::with(project.command(&["mcp"]));
    initialize(&mut talk);
    let refused = call(&mut talk, "write_file", &json!({ "path": "a", "content": "" }));
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(refused["isError"] == true && text.contains("--yes"), "{refused}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn an_input_that_is_not_json_rpc_is_told() {
    let project = Project::with_secret();
    let mut child =
        project.command(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"junk\n").unwrap();
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(!ended.status.success() && told.contains("the input was not JSON-RPC"), "{told}");
    assert_eq!(ended.stdout, b"");
}

#[test]
fn an_output_is_sent_once_and_an_option_bounds_it() {
    let project = Project::with_secret();
    for (words, most) in [(&[][..], 37_000), (&["--max-output", "2000"], 4_000)] {
        let words = [&["mcp", "--policy", "permissive"], words].concat();
        let mut talk = Conversation::with(project.command(&words));
        initialize(&mut talk);
        let ran = call(&mut talk, "execute", &json!({ "command": "seq 1 60000" }));
        let text = ran["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("[output is truncated in the middle: "), "{text}");
        let message = ran.to_string();
        assert!(message.len() < most, "{} characters of text, {} bytes of message", text.len(), message.len());
        assert_eq!(talk.end(), Some(0));
    }
}

#[test]
fn a_client_that_goes_leaves_no_command_behind() {
    let (project, mark) = (Project::with_secret(), mark());
    let mut talk = Conversation::with(project.command(&["mcp", "--yes"]));
    initialize(&mut talk);
    let params = json!({ "name": "execute", "arguments": { "command": format!("sleep {mark}") } });
    talk.say(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    eventually("the command does not start", || is_running(&mark));
    talk.child.kill().unwrap();
    eventually("the command is left", || !is_running(&mark));
}

#[test]
fn over_http_a_request_without_the_token_is_turned_away() {
    let project = Project::with_secret();
    let mut child = project.command(&["mcp", "--http", "0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    let url = errors.next().unwrap().unwrap();
    let address = url.strip_prefix("workden: serving http://").unwrap().strip_suffix("/mcp").unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let told = errors.next().unwrap().unwrap();
    let token = told.split("Bearer ").nth(1).unwrap().trim_end_matches('`').to_owned();
    let post = |authorization: &str| {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }).to_string();
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\n{authorization}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).unwrap();
        String::from_utf8_lossy(&status).into_owned()
    };
    assert_eq!(post(""), "HTTP/1.1 401");
    assert_eq!(post("Authorization: Bearer guess\r\n"), "HTTP/1.1 401");
    assert_eq!(post(&format!("Authorization: Bearer {token}\r\n")), "HTTP/1.1 200");
    let open = project.workden(&["mcp", "--http", "0.0.0.0:0", "--no-token"]);
    assert!(open.code == Some(1) && open.err.contains("without a token"), "{open:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_is_printed_to_paste_names_this_directory_and_the_options() {
    let project = Project::with_secret();
    let root = project.path().canonicalize().unwrap().display().to_string();
    let program = std::fs::canonicalize(env!("CARGO_BIN_EXE_workden")).unwrap().display().to_string();
    for (client, key) in [("claude", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")] {
        let ran =
            project.workden(&["mcp", "--print-config", client, "--policy", "permissive", "--mount", "/data=.:ro"]);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let server = &document[key]["workden"];
        let data = format!("{root}:/data:ro");
        let expected = json!(["mcp", "--root", root, "--mount", data, "--policy", "permissive"]);
        assert_eq!((&server["command"], &server["args"]), (&json!(program), &expected), "{client}");
        assert!(ran.err.contains("mcp.json"), "{ran:?}");
    }
    let over = project.workden(&["mcp", "--print-config", "vscode", "--http", "8421"]).out;
    assert!(over.contains("http://127.0.0.1:8421/mcp") && over.contains("WORKDEN_MCP_TOKEN"), "{over}");
    let python = project.workden(&["mcp", "--print-config", "pydantic-ai"]).out;
    std::fs::write(project.at("agent.py"), &python).unwrap();
    let compiled = std::process::Command::new("python3")
        .args(["-m", "py_compile", "agent.py"])
        .current_dir(project.path())
        .status();
    assert!(compiled.unwrap().success() && python.contains(&root), "{python}");
}
