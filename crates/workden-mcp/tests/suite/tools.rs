//! Tools: listed with what a client should know, and each of them called, by clients of both kinds.

use rmcp::model::{NumberOrString, ProgressToken, RequestMetaObject};
use serde_json::{Value, json};
use workden::{
    Preset, Workspace,
    tools::{ExtraTool, ToolsetOptions},
};
use workden_mcp::McpServer;

use crate::{
    client::{Revision, User, call, calling, failure, kind, said, text, try_call},
    test_workspace::{TestWorkspace, eventually, serving},
};

/// A picture of one pixel.
const PIXEL: [u8; 69] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1, 8,
    2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0,
    0, 3, 1, 1, 0, 0xc9, 0xfe, 0x92, 0xef, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

fn everything(place: &TestWorkspace) -> McpServer {
    let mut options = ToolsetOptions::default();
    options.extra_tools = ExtraTool::ALL.to_vec();
    McpServer::new(&place.builder().build().unwrap(), options).unwrap()
}

#[tokio::test]
async fn tools_come_with_schemas_and_hints() {
    let place = TestWorkspace::new();
    for revision in [Revision::Handshake, Revision::Stateless] {
        let client = User::silent().connect(&everything(&place), revision).await;
        let tools = client.list_all_tools().await.unwrap();
        let named = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
        let hints = |name: &str| {
            let hints = named(name).annotations.clone().unwrap();
            (hints.read_only_hint.unwrap(), hints.destructive_hint.unwrap(), hints.open_world_hint.unwrap())
        };
        assert_eq!(hints("read_file"), (true, false, false));
        assert_eq!(hints("write_file"), (false, true, false));
        assert_eq!(hints("execute"), (false, true, true));
        for tool in &tools {
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert!(tool.description.as_ref().is_some_and(|text| text.len() > 20), "{}", tool.name);
            assert!(tool.title.as_ref().is_some_and(|title| !title.contains('_')), "{}", tool.name);
            let answers_with_text = ["read_file", "execute", "read_output"].contains(&&*tool.name);
            assert_eq!(tool.output_schema.is_none(), answers_with_text, "{}", tool.name);
        }
        assert!(named("execute").input_schema["properties"]["command"]["description"].is_string());
    }
}

#[tokio::test]
async fn the_server_names_itself_and_sends_instructions() {
    let place = TestWorkspace::new();
    let workspace = place.builder().build().unwrap();
    let prompt = workspace.toolset(ToolsetOptions::default()).unwrap().system_prompt();
    let client = User::silent().connect(&serving(&workspace), Revision::Handshake).await;
    let info = serde_json::to_value(client.peer_info().unwrap()).unwrap();
    assert_eq!(info["serverInfo"]["name"], "workden");
    assert_eq!(info["instructions"], prompt);
    assert_eq!(info["capabilities"], json!({ "tools": {}, "resources": {} }));
}

/// Every tool there is, with arguments that make sense in this order, and a word of the answer.
const CALLS: [(&str, &str, &str); 16] = [
    ("write_file", r#"{"path":"a.txt","content":"one\ntwo\n"}"#, "a.txt"),
    ("read_file", r#"{"path":"a.txt"}"#, "two"),
    ("edit_file", r#"{"path":"a.txt","old_string":"two","new_string":"2"}"#, "a.txt"),
    ("multi_edit", r#"{"path":"a.txt","edits":[{"old_string":"one","new_string":"1"}]}"#, "a.txt"),
    ("ls", "{}", "a.txt"),
    ("list_files", "{}", "a.txt"),
    ("glob", r#"{"pattern":"*.txt"}"#, "a.txt"),
    ("grep", r#"{"pattern":"1","output_mode":"content"}"#, "a.txt"),
    ("copy_file", r#"{"source":"a.txt","destination":"b.txt"}"#, "b.txt"),
    ("move_file", r#"{"source":"b.txt","destination":"c.txt"}"#, "c.txt"),
    ("delete_file", r#"{"path":"c.txt"}"#, "c.txt"),
    ("execute", r#"{"command":"cat a.txt; ls"}"#, "1\n2\na.txt"),
    ("run_in_background", r#"{"command":"echo behind; sleep 60"}"#, ""),
    ("list_shells", "{}", "sleep"),
    ("read_output", r#"{"shell_id":"SHELL"}"#, ""),
    ("kill_shell", r#"{"shell_id":"SHELL"}"#, ""),
];

#[tokio::test]
async fn every_tool_is_called() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let client = User::silent().connect(&everything(&place), revision).await;
        let tools = client.list_all_tools().await.unwrap();
        let mut left: Vec<String> = tools.iter().map(|tool| tool.name.to_string()).collect();
        let mut shell = String::new();
        for (tool, arguments, expected) in CALLS {
            let arguments: Value = serde_json::from_str(&arguments.replace("SHELL", &shell)).unwrap();
            let answer = call(&client, tool, arguments).await;
            assert!(said(&answer).contains(expected) && answer.is_error == Some(false), "{tool}: {answer:?}");
            let schema =
                tools.iter().find(|listed| listed.name == tool).and_then(|listed| listed.output_schema.clone());
            match (&answer.structured_content, schema) {
                (Some(data), Some(schema)) => conforms(data, &Value::Object((*schema).clone())),
                (None, None) => {}
                other => panic!("{tool}: {other:?}"),
            }
            if tool == "run_in_background" {
                let data = call(&client, "list_shells", json!({})).await.structured_content.unwrap();
                shell = data["shells"][0]["shell_id"].as_str().unwrap().to_owned();
            }
            left.retain(|name| name != tool);
        }
        assert_eq!(left, Vec::<String>::new(), "these were not called");
    }
}

/// Checks a value against the part of JSON Schema that the schemas of answers use.
fn conforms(value: &Value, schema: &Value) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    assert_eq!(schema["type"], kind, "{value} against {schema}");
    let names = |list: &Value| list.as_array().cloned().unwrap_or_default();
    match value {
        Value::Array(items) => items.iter().for_each(|item| conforms(item, &schema["items"])),
        Value::Object(fields) => {
            assert_eq!(schema["additionalProperties"], false, "{schema}");
            for (name, field) in fields {
                conforms(field, schema["properties"].get(name).unwrap_or_else(|| panic!("{name} is not in {schema}")));
            }
            let missing =
                names(&schema["required"]).into_iter().find(|name| value.get(name.as_str().unwrap()).is_none());
            assert_eq!(missing, None, "{value} against {schema}");
        }
        _ => {}
    }
}

#[tokio::test]
async fn an_output_is_sent_once_and_its_facts_beside_it() {
    let place = TestWorkspace::new();
    let client = User::silent().connect(&place.server(), Revision::Handshake).await;
    let answer = call(&client, "execute", json!({ "command": "echo out; exit 3" })).await;
    assert_eq!(answer.is_error, Some(false), "that a command fails is an answer");
    assert_eq!(said(&answer), "Command failed (exit code 3):\nout\n");
    assert_eq!(answer.structured_content, None, "many clients would show a model this and not the text");
    let facts = &serde_json::to_value(answer.meta).unwrap()["workden/facts"];
    assert_eq!((&facts["exit_code"], &facts["truncated"]), (&json!(3), &json!(false)));

    let long = call(&client, "execute", json!({ "command": "seq 1 60000" })).await;
    let text = said(&long);
    assert!(text.chars().count() <= 30_000, "{}", text.chars().count());
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n60000\n"), "{}", &text[..100]);
    let told = text.lines().find(|line| line.starts_with("[output is truncated in the middle: ")).unwrap();
    assert!(told.contains(" of 348894 bytes (") && told.contains(" lines) left out; "), "{told}");
    let message = serde_json::to_string(&long).unwrap();
    assert!(message.len() < 40_000, "{}", message.len());
}

#[tokio::test]
async fn a_failure_is_an_answer_that_a_model_can_act_on() {
    let place = TestWorkspace::new();
    let client = User::silent().connect(&place.server(), Revision::Handshake).await;
    let missing = call(&client, "read_file", json!({ "path": "nothing.md" })).await;
    assert_eq!(missing.is_error, Some(true));
    assert_eq!(kind(&missing), "not_found");
    assert!(failure(&client, "read_file", json!({ "pfad": "a" })).await.contains("pfad"));
    let escape = failure(&client, "read_file", json!({ "path": "../../etc/passwd" })).await;
    assert!(!escape.contains("root:") && !escape.contains(&place.directory.path().display().to_string()), "{escape}");
    let unknown = try_call(&client, "format_disk", json!({})).await.unwrap_err().to_string();
    assert!(unknown.contains("tool `format_disk` not found") && unknown.contains("read_file"), "{unknown}");
    assert_eq!(text(&client, "execute", json!({ "command": "echo still there" })).await, "still there\n");
}

#[tokio::test]
async fn an_image_is_content_of_its_own() {
    let place = TestWorkspace::new();
    place.write("pixel.dat", PIXEL);
    for revision in [Revision::Handshake, Revision::Stateless] {
        let client = User::silent().connect(&place.server(), revision).await;
        let answer = call(&client, "read_file", json!({ "path": "pixel.dat" })).await;
        let image = answer.content.iter().find_map(|block| block.as_image()).expect("an image");
        assert_eq!(image.mime_type, "image/png");
        assert!(image.data.starts_with("iVBORw0KGgo"), "{}", image.data);
    }
}

#[tokio::test]
async fn tools_that_the_policy_denies_are_not_there() {
    let workspace = Workspace::builder().preset(Preset::Readonly).build().unwrap();
    let client = User::silent().connect(&serving(&workspace), Revision::Handshake).await;
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "read_file"));
    assert!(!tools.iter().any(|tool| ["write_file", "edit_file", "execute"].contains(&&*tool.name)), "{tools:?}");
    assert!(try_call(&client, "write_file", json!({ "path": "a", "content": "" })).await.is_err());
}

#[tokio::test]
async fn calls_do_not_wait_for_each_other() {
    let place = TestWorkspace::new();
    let client = User::silent().connect(&place.server(), Revision::Handshake).await;
    let waits = "touch started; while ! test -e go; do sleep 0.05; done; echo went";
    let slow = call(&client, "execute", json!({ "command": waits, "timeout": 600 }));
    let quick = async {
        eventually("the first command runs", || place.path("started").exists().then_some(())).await;
        call(&client, "execute", json!({ "command": "touch go; echo quick", "timeout": 600 })).await
    };
    let (slow, quick) = tokio::join!(slow, quick);
    assert_eq!((said(&slow).as_str(), said(&quick).as_str()), ("went\n", "quick\n"));
}

#[tokio::test]
async fn a_client_that_asks_for_progress_of_a_command_gets_it() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let user = User::silent();
        let progress = std::sync::Arc::clone(&user.progress);
        let client = user.connect(&place.server(), revision).await;
        let mut request =
            calling("execute", json!({ "command": "while ! test -e go; do sleep 0.05; done", "timeout": 600 }));
        let mut meta = RequestMetaObject::new();
        meta.set_progress_token(ProgressToken(NumberOrString::String("mine".into())));
        request.meta = Some(meta);
        // The command ends when two reports have come, however long that takes.
        let two_reports = async {
            let reports = || Some(progress.lock().unwrap().clone()).filter(|reports| reports.len() >= 2);
            let reports = eventually("two reports come", reports).await;
            place.write("go", "");
            reports
        };
        let (answer, reports) = tokio::join!(client.call_tool(request), two_reports);
        assert_eq!(answer.unwrap().is_error, Some(false));
        assert!(reports[1].progress > reports[0].progress && reports[0].total == Some(600.0), "{reports:?}");
        let message = reports[0].message.as_deref().unwrap();
        assert!(message.starts_with("running for ") && message.ends_with(" s of at most 600 s"), "{message}");
    }
}
