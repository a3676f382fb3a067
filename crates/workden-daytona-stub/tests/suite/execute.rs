//! One command at a time, by the toolbox.

use serde_json::{Value, json};

use crate::client::{Client, started};

async fn run(client: &Client, request: Value) -> (u16, Value) {
    let got = client.toolbox("POST", "/process/execute", Some(&request)).await;
    (got.status, got.json())
}

#[tokio::test]
async fn a_command_has_its_code_its_directory_its_variables_and_one_output() {
    let client = started().await;
    let line = "pwd; echo $X >&2; echo $HOME; exit 3";
    let (status, answer) = run(&client, json!({ "command": line, "cwd": "/tmp", "envs": { "X": "y" } })).await;
    assert_eq!((status, answer), (200, json!({ "exitCode": 3, "result": "/tmp\ny\n/home/daytona\n" })));
    let (_, answer) = run(&client, json!({ "command": "missing-program" })).await;
    assert_eq!(answer["exitCode"], 127);
    let (status, answer) = run(&client, json!({ "command": "true", "cwd": "/nowhere" })).await;
    assert_eq!((status, &answer["exitCode"]), (200, &json!(-1)));
    assert_eq!(run(&client, json!({ "cwd": "/" })).await.0, 400);
    assert_eq!(run(&client, json!({ "command": " " })).await.0, 400);
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_its_processes() {
    let client = started().await;
    let line = "sleep 6543 & sleep 7654";
    let (status, answer) = run(&client, json!({ "command": line, "timeout": 1 })).await;
    assert_eq!((status, &answer["statusCode"]), (408, &json!(408)));
    // The sandbox sees its own processes only.
    let (_, left) = run(&client, json!({ "command": "cat /proc/[0-9]*/cmdline | tr '\\0' ' '" })).await;
    let left = left["result"].as_str().unwrap().replace("cat /proc", "");
    assert!(!left.contains("sleep 6543") && !left.contains("sleep 7654"), "{left}");
}

#[tokio::test]
async fn the_line_is_the_standard_input_of_the_shell() {
    let client = started().await;
    let (_, answer) = run(&client, json!({ "command": "read x\nthe second line\necho [$x]" })).await;
    assert_eq!(answer, json!({ "exitCode": 0, "result": "[the second line]\n" }));
}
