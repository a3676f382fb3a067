//! Approvals: granted, denied, remembered and impossible, by elicitation and by round trips; and everything that a
//! client could try with the state that it carries between two rounds.

use rmcp::model::{CallToolResponse, InputRequiredResult, ReadResourceRequestParams, ResourceContents};
use serde_json::{Value, json};
use workden::{
    Action, Approvals, Operation, Preset, Ruleset, Workspace,
    policy::OperationRules,
    tools::{ExtraTool, ToolsetOptions},
};
use workden_mcp::McpServer;

use crate::{
    client::{Client, Revision, User, calling, failure, kind, no, said, text, yes, yes_and_remember},
    test_workspace::{TestWorkspace, serving},
};

const BOTH: [Revision; 2] = [Revision::Handshake, Revision::Stateless];

fn asking(place: &TestWorkspace) -> Workspace {
    place.builder().preset(Preset::Default).build().unwrap()
}

fn write(content: &str) -> Value {
    json!({ "path": "a.txt", "content": content })
}

#[tokio::test]
async fn an_approved_call_is_carried_out() {
    for revision in BOTH {
        let place = TestWorkspace::new();
        let user = User::answering([yes()]);
        let client = user.clone().connect(&serving(&asking(&place)), revision).await;
        text(&client, "write_file", write("approved\n")).await;
        assert_eq!(std::fs::read_to_string(place.path("a.txt")).unwrap(), "approved\n");
        let asked = user.asked();
        assert_eq!(asked.len(), 1, "{revision:?}: {asked:?}");
        assert!(asked[0].starts_with("write_file wants your approval: Write 9 bytes to"), "{}", asked[0]);
        assert!(asked[0].contains("+approved"), "{}", asked[0]);
    }
}

#[tokio::test]
async fn a_declined_call_is_refused() {
    for revision in BOTH {
        let place = TestWorkspace::new();
        let user = User::answering([no(), json!({ "action": "cancel" })]);
        let client = user.clone().connect(&serving(&asking(&place)), revision).await;
        let declined = failure(&client, "write_file", write("x")).await;
        assert!(declined.contains("it was not approved: the user declined"), "{declined}");
        let closed = failure(&client, "execute", json!({ "command": "touch made" })).await;
        assert!(closed.contains("closed the question"), "{closed}");
        assert_eq!(user.asked().len(), 2);
        assert_eq!(std::fs::read_dir(place.directory.path()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_client_that_cannot_ask_is_told_what_to_do() {
    for revision in BOTH {
        let place = TestWorkspace::new();
        let client = User::silent().connect(&serving(&asking(&place)), revision).await;
        let refused = client.call_tool(calling("write_file", write("x"))).await.unwrap();
        assert_eq!(kind(&refused), "approval_needed");
        let refused = said(&refused);
        for part in ["without approval", "this MCP client cannot be asked", "--yes", "elicitation", "policy"] {
            assert!(refused.contains(part), "{refused}");
        }
        text(&client, "ls", json!({})).await;
    }
}

#[tokio::test]
async fn a_client_that_fails_to_ask_has_not_approved() {
    for revision in BOTH {
        let place = TestWorkspace::new();
        let client = User::answering([]).connect(&serving(&asking(&place)), revision).await;
        if let Ok(answer) = client.call_tool(calling("write_file", write("x"))).await {
            assert_eq!(answer.is_error, Some(true), "{answer:?}");
        }
        assert_eq!(std::fs::read_dir(place.directory.path()).unwrap().count(), 0);
    }
}

#[tokio::test]
async fn a_denied_call_does_not_ask() {
    for revision in BOTH {
        let place = TestWorkspace::new();
        place.write(".env", "SECRET=1\n");
        let user = User::answering([]);
        let client = user.clone().connect(&serving(&asking(&place)), revision).await;
        let denied = failure(&client, "read_file", json!({ "path": ".env" })).await;
        assert!(!denied.contains("SECRET") && user.asked().is_empty(), "{denied}");
    }
}

#[tokio::test]
async fn a_remembered_answer_covers_the_same_call() {
    for revision in BOTH {
        let place = TestWorkspace::new();
        let user = User::answering([yes_and_remember(), yes(), yes()]);
        let client = user.clone().connect(&serving(&asking(&place)), revision).await;
        for content in ["1", "2", "3"] {
            text(&client, "write_file", write(content)).await;
        }
        assert_eq!(user.asked().len(), 1);
        for _ in 0..2 {
            text(&client, "write_file", json!({ "path": "b.txt", "content": "other" })).await;
        }
        assert_eq!(user.asked().len(), 3, "an answer that is not remembered, every time");
    }
}

#[tokio::test]
async fn a_configuration_is_not_the_clients_to_change() {
    for revision in BOTH {
        let place = TestWorkspace::new();
        let strict = place
            .builder()
            .preset(Preset::Default)
            .config(workden::Config::parse("[approvals]\nmode = \"strict\"\n").unwrap(), place.directory.path());
        let user = User::answering([yes()]);
        let client = user.clone().connect(&serving(&strict.build().unwrap()), revision).await;
        failure(&client, "write_file", write("x")).await;
        assert!(user.asked().is_empty());
        let all = place.builder().preset(Preset::Default).approvals(Approvals::approve_all());
        let client = User::silent().connect(&serving(&all.build().unwrap()), revision).await;
        text(&client, "write_file", write("x")).await;
    }
}

#[tokio::test]
async fn a_resource_that_needs_approval_asks() {
    for revision in BOTH {
        let place = TestWorkspace::new();
        place.write("a.txt", "text\n");
        let mut rules = Ruleset::all(Action::Allow);
        *rules.of_mut(Operation::Read) = Some(OperationRules::always(Action::Ask));
        let workspace = Workspace::builder().root(place.directory.path()).rules(rules);
        let workspace = workspace.approvals(workden_mcp::approvals()).build().unwrap();
        let user = User::answering([yes(), no()]);
        let client = user.clone().connect(&serving(&workspace), revision).await;
        let read = || client.read_resource(ReadResourceRequestParams::new("workden:///a.txt"));
        let ResourceContents::TextResourceContents { text, .. } = &read().await.unwrap().contents[0] else { panic!() };
        assert_eq!(text, "text\n");
        assert!(user.asked()[0].starts_with("resources/read wants your approval: Read"), "{:?}", user.asked());
        assert!(read().await.is_err());
    }
}

/// One round by hand.
async fn required(client: &Client, tool: &str, arguments: Value) -> InputRequiredResult {
    match client.call_tool_once(calling(tool, arguments)).await.unwrap() {
        CallToolResponse::InputRequired(required) => required,
        other => panic!("{other:?}"),
    }
}

async fn answered(client: &Client, tool: &str, arguments: Value, state: &str, answer: Value) -> CallToolResponse {
    let mut request = calling(tool, arguments);
    request.request_state = Some(state.to_owned());
    request.input_responses = Some([("approval".to_owned(), answer)].into());
    client.call_tool_once(request).await.unwrap()
}

fn is_done(response: &CallToolResponse) -> bool {
    matches!(response, CallToolResponse::Complete(result) if result.is_error == Some(false))
}

fn asks_again(response: &CallToolResponse) -> bool {
    matches!(response, CallToolResponse::InputRequired(_))
}

const APPEND: &str = "echo x >> log";

#[tokio::test]
async fn an_approval_is_for_one_call_with_the_same_arguments() {
    let place = TestWorkspace::new();
    let client = User::answering([]).connect(&serving(&asking(&place)), Revision::Stateless).await;
    let command = |line: &str| json!({ "command": line });
    let state = || async { required(&client, "execute", command(APPEND)).await.request_state.unwrap() };

    // Other arguments, another tool, no answer, another answer's name: asked anew, and nothing is run.
    let first = state().await;
    assert!(asks_again(&answered(&client, "execute", command("rm -rf log"), &first, yes()).await));
    assert!(asks_again(&answered(&client, "run_in_background", command(APPEND), &state().await, yes()).await));
    let mut silent = calling("execute", command(APPEND));
    silent.request_state = Some(state().await);
    assert!(asks_again(&client.call_tool_once(silent).await.unwrap()));
    assert!(asks_again(&answered(&client, "execute", command(APPEND), "forged", yes()).await));
    assert!(asks_again(&answered(&client, "execute", command(APPEND), &state().await, json!("yes")).await));
    let mut unsealed = calling("execute", command(APPEND));
    unsealed.input_responses = Some([("approval".to_owned(), yes())].into());
    assert!(asks_again(&client.call_tool_once(unsealed).await.unwrap()), "an answer without a question");
    assert!(!place.path("log").exists());

    // The right one runs it, once.
    let state = state().await;
    assert!(is_done(&answered(&client, "execute", command(APPEND), &state, yes()).await));
    assert!(asks_again(&answered(&client, "execute", command(APPEND), &state, yes()).await));
    assert_eq!(std::fs::read_to_string(place.path("log")).unwrap(), "x\n");
}

#[tokio::test]
async fn a_change_since_the_question_makes_another_question() {
    let place = TestWorkspace::new();
    place.write("a.txt", "before\n");
    let client = User::answering([]).connect(&serving(&asking(&place)), Revision::Stateless).await;
    text(&client, "read_file", json!({ "path": "a.txt" })).await;
    let state = required(&client, "write_file", write("after\n")).await.request_state.unwrap();
    place.write("a.txt", "another program's\n");
    let response = answered(&client, "write_file", write("after\n"), &state, yes()).await;
    assert!(!is_done(&response), "{response:?}");
    assert_eq!(std::fs::read_to_string(place.path("a.txt")).unwrap(), "another program's\n");
}

#[tokio::test]
async fn an_approval_covers_the_contents_of_the_time_of_the_question() {
    let place = TestWorkspace::new();
    let mut options = ToolsetOptions::default();
    options.extra_tools = vec![ExtraTool::DeleteFile, ExtraTool::MoveFile, ExtraTool::CopyFile];
    let server = McpServer::new(&asking(&place), options).unwrap();
    let client = User::answering([]).connect(&server, Revision::Stateless).await;
    let to = json!({ "source": "a.txt", "destination": "b.txt" });
    let long = |end: &str| "line\n".repeat(1_000) + end;
    for (tool, arguments, before, meanwhile) in [
        ("delete_file", json!({ "path": "a.txt" }), "one\n".to_owned(), "two\n".to_owned()),
        ("copy_file", to.clone(), "one\n".to_owned(), "two\n".to_owned()),
        ("move_file", to, "one\n".to_owned(), "two\n".to_owned()),
        ("write_file", write("after\n"), "a\0\n".to_owned(), "b\0\n".to_owned()),
        ("write_file", write("after\n"), long("one\n"), long("two\n")),
    ] {
        place.write("a.txt", &before);
        let time = std::fs::metadata(place.path("a.txt")).unwrap().modified().unwrap();
        let state = || async { required(&client, tool, arguments.clone()).await.request_state.unwrap() };
        let first = state().await;
        place.write("a.txt", &meanwhile);
        std::fs::File::open(place.path("a.txt")).unwrap().set_modified(time).unwrap();
        let response = answered(&client, tool, arguments.clone(), &first, yes()).await;
        assert!(asks_again(&response), "{tool}: {response:?}");
        assert_eq!(std::fs::read_to_string(place.path("a.txt")).unwrap(), meanwhile, "{tool}");
        assert!(!place.path("b.txt").exists(), "{tool}");
        // Without a change the call is carried out.
        let second = state().await;
        let response = answered(&client, tool, arguments.clone(), &second, yes()).await;
        assert!(is_done(&response), "{tool}: {response:?}");
        let _ = std::fs::remove_file(place.path("b.txt"));
    }
}

#[tokio::test]
async fn a_server_does_not_accept_the_state_of_another() {
    let place = TestWorkspace::new();
    let workspace = asking(&place);
    let one = User::answering([]).connect(&serving(&workspace), Revision::Stateless).await;
    let other = User::answering([]).connect(&serving(&workspace), Revision::Stateless).await;
    let state = required(&one, "execute", json!({ "command": APPEND })).await.request_state.unwrap();
    assert!(asks_again(&answered(&other, "execute", json!({ "command": APPEND }), &state, yes()).await));
    assert!(!place.path("log").exists());
}
