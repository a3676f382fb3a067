//! One call by hand, and the list of tools.

use std::{io::Write, process::Stdio};

use serde_json::{Value, json};

use crate::project::{Project, Ran};

#[test]
fn a_call_prints_what_a_model_would_see() {
    let project = Project::with_secret();
    assert_eq!(project.tool("read_file", &json!({ "path": "notes.md" }), &[]).printed(), "     1\tremember\n");
    let missing = project.tool("read_file", &json!({ "path": "nothing.md" }), &[]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.out.starts_with("Error: cannot read `/workspace/nothing.md`"), "{missing:?}");
    let document = project.tool("read_file", &json!({ "path": "nothing.md" }), &["--json"]);
    let document: Value = serde_json::from_str(&document.out).unwrap();
    assert_eq!((&document["ok"], &document["kind"]), (&json!(false), &json!("not_found")));
}

#[test]
fn commands_are_isolated_and_files_are_the_same_for_both() {
    let project = Project::with_secret();
    let script = json!({ "command": "whoami; pwd; cat notes.md; echo made > made.txt; ls -A /home" });
    let ran = project.tool("execute", &script, &["--policy", "permissive"]);
    assert_eq!(ran.printed(), "agent\n/workspace\nremember\nagent\n");
    assert_eq!(project.read("made.txt"), "made\n");
    let data = project.tool("execute", &json!({ "command": "exit 3" }), &["--policy", "permissive", "--json"]);
    let exit_code = data.code;
    let data: Value = serde_json::from_str(&data.out).unwrap();
    assert_eq!((&data["ok"], &data["structured"]["exit_code"], exit_code), (&json!(true), &json!(3), Some(3)));
}

#[test]
fn a_rule_that_matches_nothing_and_a_toolchain_that_is_missing_are_named() {
    let project = Project::with_secret();
    std::fs::write(project.at("workden.toml"), "[[rules.write.rules]]\npattern = \"/src/**\"\naction = \"deny\"\n")
        .unwrap();
    let listed = project.tool("ls", &json!({ "path": "." }), &["--config", "workden.toml"]);
    let note = "note: rule 1 of `write` (pattern `/src/**`) matches nothing here; for the project, write `src/**`\n";
    assert_eq!(listed.err, note);
    let script = json!({ "command": "PATH=/nowhere; cargo build" });
    let missing = project.tool("execute", &script, &["--policy", "permissive", "--yes"]);
    assert!(missing.out.contains("`--toolchain python`, `node`, `rust` or `go`"), "{missing:?}");
}

#[test]
fn what_commands_made_elsewhere_can_be_read_and_a_secret_cannot() {
    let project = Project::with_secret();
    let mut talk = project.jsonl(&["--policy", "permissive"]);
    let mut call = |tool: &str, args: Value| {
        let answer = talk.ask(json!({ "id": 1, "tool": tool, "args": args }));
        answer["text"].as_str().unwrap().to_owned()
    };
    call("execute", json!({ "command": "echo from a command > /tmp/there" }));
    assert_eq!(call("read_file", json!({ "path": "/tmp/there" })), "     1\tfrom a command");
    call("write_file", json!({ "path": "sly.sh", "content": "cat .env; cat /workspace/.env\n" }));
    let sly = call("execute", json!({ "command": "sh sly.sh" }));
    assert!(sly.contains("Permission denied") && !sly.contains("hunter2"), "{sly}");
}

#[test]
fn arguments_come_from_the_command_line_or_from_input() {
    let project = Project::with_secret();
    let mut child = project
        .command(&["tool", "write_file", "-", "--yes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let arguments = json!({ "path": "long.txt", "content": "x".repeat(300_000) }).to_string();
    child.stdin.take().unwrap().write_all(arguments.as_bytes()).unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.printed(), "Wrote 1 line to /workspace/long.txt\n");
    assert_eq!(project.read("long.txt").len(), 300_000);
    let nonsense = project.workden(&["tool", "ls", "path=."]);
    assert_eq!(nonsense.code, Some(2));
    assert!(nonsense.err.starts_with("error: invalid JSON arguments: "), "{nonsense:?}");
}

#[test]
fn the_list_has_what_can_be_used_and_nothing_else() {
    let project = Project::with_secret();
    let names = |words: &[&str]| -> Vec<String> {
        let listed = project.workden(&[&["tool", "--json"], words].concat()).printed();
        let tools: Vec<Value> = serde_json::from_str(&listed).unwrap();
        assert!(tools.iter().all(|tool| tool["input_schema"]["type"] == "object"), "{tools:?}");
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let all = names(&[]);
    for name in ["ls", "read_file", "write_file", "edit_file", "glob", "grep", "execute", "run_in_background"] {
        assert!(all.iter().any(|there| there == name), "{name}: {all:?}");
    }
    assert_eq!(names(&["--policy", "readonly"]), ["ls", "read_file", "glob", "grep"]);
    for files_only in [&["--sandbox", "none"][..], &["--state", "state.json"]] {
        let files = names(files_only);
        assert!(files.contains(&"write_file".to_owned()) && !files.contains(&"execute".to_owned()), "{files:?}");
    }
    let hashlines = names(&["--edit-format", "hashline"]);
    assert!(hashlines.contains(&"hashline_edit".to_owned()) && !hashlines.contains(&"edit_file".to_owned()));
    let extra = names(&["--extra-tools", "delete_file,move_file"]);
    assert!(extra.contains(&"delete_file".to_owned()) && extra.contains(&"move_file".to_owned()), "{extra:?}");
    let shown = project.workden(&["tool"]).printed();
    assert!(all.iter().all(|name| shown.lines().any(|line| line.starts_with(name.as_str()))), "{shown}");
}

#[test]
fn a_tool_that_the_policy_hides_cannot_be_called_either() {
    let project = Project::with_secret();
    let refused =
        project.tool("write_file", &json!({ "path": "a", "content": "" }), &["--policy", "readonly", "--yes"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.out.contains("tool `write_file` not found") && !project.at("a").exists(), "{refused:?}");
}

#[test]
fn nonsense_is_answered_with_two_and_a_missing_place_with_three() {
    let project = Project::with_secret();
    for nonsense in [
        &["tool", "--jsonl", "ls"][..],
        &["tool", "--jobs", "3"],
        &["tool", "--jsonl", "--jobs", "0"],
        &["tool", "--policy", "lax"],
        &["tool", "--mount", "data"],
        &["tool", "--root", ".", "--state", "s.json"],
        &["tool", "--sandbox", "pod"],
        &["tool", "--extra-tools", "execute"],
        &["mcp", "--no-token"],
        &["mcp", "--http", "nowhere"],
        &["completions", "cmd"],
    ] {
        let ran = project.workden(nonsense);
        assert_eq!(ran.code, Some(2), "{nonsense:?}: {ran:?}");
    }
    std::fs::write(project.at("bad.toml"), "extends = \"lax\"\n").unwrap();
    std::fs::write(project.at("bad.json"), "[]").unwrap();
    for (nowhere, expected) in [
        (&["tool", "--root", "missing"][..], "directory `missing` not found"),
        (&["tool", "--mount", "/data=missing"], "directory `missing` not found"),
        (&["tool", "--config", "missing.toml"], "configuration `missing.toml` not found"),
        (&["tool", "--config", "bad.toml"], "bad.toml: line 1"),
        (&["tool", "--state", "bad.json"], "this is not a workspace document"),
        (&["tool", "--state", "missing/s.json"], "the directory of"),
        (&["mcp", "--root", "missing"], "directory `missing` not found"),
    ] {
        let ran = project.workden(nowhere);
        assert_eq!(ran.code, Some(3), "{nowhere:?}: {ran:?}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains(expected), "{nowhere:?}: {ran:?}");
    }
}

#[test]
fn completions_know_the_commands() {
    let project = Project::with_secret();
    for shell in ["bash", "zsh", "fish"] {
        let script = project.workden(&["completions", shell]).printed();
        assert!(script.contains("print-config") && script.contains("jsonl"), "{shell}");
    }
}
