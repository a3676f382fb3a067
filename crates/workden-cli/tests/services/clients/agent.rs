//! A Pydantic AI agent calls the tools through its MCP toolset, connected as `--print-config pydantic-ai` says. Its
//! model is a function, so the tests need no key and are deterministic.

use std::process::Command;

use serde_json::Value;

use crate::clients::{
    installed,
    process::run,
    served::{Reached, Served, project},
};

/// Returns what `workden mcp --print-config pydantic-ai` prints, with a model that needs no package and no key. The
/// script replaces the model anyway.
fn printed(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
    let ran = run(command.args(["mcp", "--print-config", "pydantic-ai"]).args(words), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let with_test_model = ran.out.replace("\"anthropic:claude-sonnet-4-5\"", "\"test\"");
    assert_ne!(ran.out, with_test_model, "the printed program names another model now");
    with_test_model
}

/// Runs the agent and returns what its script prints.
fn work(program: &str, token: &str) -> Value {
    let mut command = Command::new(installed::python());
    command.arg(installed::script("agent.py")).env_remove("PYTHONPATH").env("WORKDEN_MCP_TOKEN", token);
    let ran = run(&mut command, program);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

fn is_as_it_should_be(worked: &Value, script: &str) {
    let calls = ["write_file", "edit_file", "grep", "execute", "read_file", "read_file"];
    assert_eq!(worked["calls"], Value::from(calls.as_slice()), "{worked}");
    assert_eq!(worked["answer"], "It prints `hello, world`, and the secret stays one.", "{worked}");
    assert_eq!(script, "echo hello, world\n");
}

#[test]
fn an_agent_of_pydantic_ai_writes_edits_greps_and_executes_over_pipes() {
    let root = project();
    let worked = work(&printed(&["--root", &root.path().display().to_string(), "--yes"]), "");
    is_as_it_should_be(&worked, &std::fs::read_to_string(root.path().join("hello.sh")).unwrap());
}

#[test]
fn an_agent_of_pydantic_ai_writes_edits_greps_and_executes_over_http() {
    let served = Served::over_http(&["--yes"]);
    let Reached::Over { url, token } = &served.reached else { panic!("it is reached by its address") };
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
    let worked = work(&printed(&["--http", address]), token);
    is_as_it_should_be(&worked, &served.read("hello.sh"));
}
