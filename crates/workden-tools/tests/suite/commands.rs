//! Commands: their output, once and bounded, and what the descriptions say about the place where they run.
#![cfg(target_os = "linux")]

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use workden_core::{
    Sandbox,
    sandbox::{CommandFacts, Network},
};
use workden_keeper::{Keeper, KeeperConfig};
use workden_tools::{Dialect, ToolTarget, Toolset, ToolsetOptions};

use crate::desk::Desk;

fn desk(options: ToolsetOptions, facts: CommandFacts) -> Desk {
    let directory = tempfile::tempdir().unwrap();
    let variables = BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    let keeper = Keeper::new(KeeperConfig::host(directory.path(), variables)).unwrap();
    let sandbox: Arc<dyn Sandbox> = Arc::new(keeper);
    let target = ToolTarget::sandbox(Arc::clone(&sandbox)).command_facts(facts);
    Desk { tools: Toolset::new(target, options).unwrap(), files: Arc::new(sandbox), directory: Some(directory) }
}

#[tokio::test]
async fn a_long_output_is_truncated_in_the_middle_and_says_so() {
    let desk = desk(ToolsetOptions::default(), CommandFacts::new());
    let answer = desk.call("execute", json!({ "command": "seq 1 60000" })).await.unwrap();
    assert!(answer.text.chars().count() <= 30_000, "{}", answer.text.chars().count());
    assert!(answer.text.starts_with("1\n2\n") && answer.text.ends_with("\n60000\n"));
    let told = answer.text.lines().find(|line| line.starts_with('[')).unwrap();
    assert!(told.starts_with("[output is truncated in the middle: "), "{told}");
    assert!(told.contains(" of 348894 bytes (") && told.contains(" lines) left out; "), "{told}");
    let facts = answer.structured.unwrap();
    assert_eq!((&facts["truncated"], &facts["exit_code"]), (&json!(true), &json!(0)));
    assert!(facts.to_string().len() < 200, "the output is not repeated: {facts}");
    // The rest can be read where the answer says.
    let file = told.split('`').nth(1).unwrap();
    let middle = desk.call("grep", json!({ "pattern": "^30000$", "path": file, "output_mode": "count" })).await;
    let by_id = desk.call("read_output", json!({ "shell_id": file })).await;
    assert!(middle.is_ok_and(|found| found.text.starts_with("Found 1 match for")) || by_id.is_ok(), "{told}");
}

#[tokio::test]
async fn an_option_and_the_dialect_set_how_long_an_output_may_be() {
    let shown = async |options: ToolsetOptions| {
        let desk = desk(options, CommandFacts::new());
        desk.call("execute", json!({ "command": "seq 1 60000" })).await.unwrap().text
    };
    let mut options = ToolsetOptions::default();
    options.max_output_chars = Some(1_000);
    assert!(shown(options.clone()).await.chars().count() <= 1_000);
    options.max_output_chars = None;
    options.dialect = Dialect::PydanticAiBackend;
    let text = shown(options).await;
    assert!((100_000..100_300).contains(&text.chars().count()) && text.contains("\n[... "), "{}", text.len());
}

#[tokio::test]
async fn the_description_says_where_commands_run() {
    let told = |facts: CommandFacts| {
        let tools = desk(ToolsetOptions::default(), facts).tools;
        let execute = tools.list().iter().find(|spec| spec.name == "execute").unwrap().description.clone();
        (execute, tools.system_prompt())
    };
    let (execute, prompt) = told(CommandFacts::new());
    assert!(execute.starts_with("Run a command line in a shell, sh (POSIX; "), "{execute}");
    assert!(!execute.contains("network") && prompt.contains(" Commands run in sh. "), "{execute}\n{prompt}");
    let toolchains = vec!["python".to_owned(), "rust".to_owned()];
    let facts = CommandFacts::new().shell("bash").network(Network::None).home_in_memory(true).no_sudo(true);
    let (execute, prompt) = told(facts.toolchains(toolchains));
    for part in ["in a shell, bash, ", "There is no network", "HOME, /tmp and", "no sudo", "toolchains: python, rust."]
    {
        assert!(execute.contains(part), "{part}: {execute}");
    }
    assert!(prompt.contains("Commands run in bash, without a network; HOME and /tmp are in memory."), "{prompt}");
}

#[tokio::test]
async fn a_command_that_fails_says_so_first() {
    let desk = desk(ToolsetOptions::default(), CommandFacts::new());
    desk.says("execute", json!({ "command": "echo out; exit 3" }), "Command failed (exit code 3):\nout\n").await;
    desk.says("execute", json!({ "command": "true" }), "(no output)").await;
}
