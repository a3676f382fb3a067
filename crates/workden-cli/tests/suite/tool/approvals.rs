//! Approvals: a user at a terminal, `--yes`, a configuration, or a refusal without any of them.

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
};

use serde_json::json;

use crate::project::Project;

fn write() -> serde_json::Value {
    json!({ "path": "a.md", "content": "new\n" })
}

#[test]
fn without_a_terminal_a_call_is_refused_and_the_option_is_named() {
    let project = Project::with_secret();
    let refused = project.tool("write_file", &write(), &[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.out.contains("without approval") && refused.out.contains("`--yes`"), "{refused:?}");
    assert!(refused.out.contains("[[rules.write.rules]] with pattern = \"/workspace/a.md\""), "{refused:?}");
    assert!(!project.at("a.md").exists());
    let mut talk = project.jsonl(&[]);
    let answer = talk.ask(json!({ "id": 1, "tool": "execute", "args": { "command": "touch x" } }));
    assert_eq!((&answer["ok"], &answer["kind"]), (&json!(false), &json!("approval_needed")));
    assert!(answer["text"].as_str().unwrap().contains("`--yes`"), "{answer}");
    assert_eq!(project.tool("write_file", &write(), &["--yes"]).printed(), "Wrote 1 line to /workspace/a.md\n");
}

#[test]
fn what_is_denied_stays_denied_with_yes() {
    let project = Project::with_secret();
    for words in [&["--yes"][..], &["--yes", "--policy", "strict"]] {
        let refused = project.tool("read_file", &json!({ "path": ".env" }), words);
        assert!(refused.code == Some(1) && refused.out.contains("Protect sensitive files"), "{refused:?}");
    }
}

#[test]
fn a_configuration_can_refuse_everything_or_approve_it() {
    let project = Project::with_secret();
    let config = |mode: &str| {
        let text = format!("extends = \"default\"\n[approvals]\nmode = \"{mode}\"\n");
        std::fs::write(project.at("workden.toml"), text).unwrap();
        project.tool("write_file", &write(), &["--config", "workden.toml"])
    };
    assert!(config("interactive").out.contains("`--yes`"));
    assert!(config("strict").out.contains("Strict mode"));
    assert_eq!(config("approve_all").code, Some(0));
}

/// Runs a shell command at a terminal, and types one of these texts for each question.
fn at_terminal(project: &Project, typed: &[&str], line: &str) -> (Option<i32>, String) {
    let mut child = Command::new("script")
        .args(["-qec", line, "/dev/null"])
        .current_dir(project.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut shown = Vec::new();
    let mut asked = 0;
    for typed in typed {
        // Waits for the question, because input before it is discarded.
        while count(&shown) == asked {
            let mut some = [0; 4096];
            match output.read(&mut some).unwrap() {
                0 => break,
                read => shown.extend_from_slice(&some[..read]),
            }
        }
        asked = count(&shown);
        // In one write, like input that was typed ahead.
        input.write_all(format!("{typed}\n").as_bytes()).unwrap();
    }
    output.read_to_end(&mut shown).unwrap();
    drop(input);
    (child.wait().unwrap().code(), String::from_utf8_lossy(&shown).into_owned())
}

fn count(shown: &[u8]) -> usize {
    String::from_utf8_lossy(shown).matches("[a]lways in this session? ").count()
}

#[test]
fn a_person_at_a_terminal_is_asked_and_their_word_holds() {
    let project = Project::with_secret();
    let line = format!("'{}' tool write_file '{}'", env!("CARGO_BIN_EXE_workden"), write());
    let (code, shown) = at_terminal(&project, &["n"], &line);
    assert!(code == Some(1) && !project.at("a.md").exists(), "{shown}");
    assert!(shown.contains("write_file asks for approval: ") && shown.contains("/workspace/a.md"), "{shown}");
    assert!(shown.contains("  | +new"), "the change is not shown: {shown}");
    let (code, shown) = at_terminal(&project, &["x", "y"], &line);
    assert_eq!((code, project.read("a.md").as_str()), (Some(0), "new\n"), "{shown}");
}

#[test]
fn always_is_for_the_session_and_for_the_same_call() {
    let project = Project::with_secret();
    let request = |id: u32, command: &str| json!({ "id": id, "tool": "execute", "args": { "command": command } });
    let lines = [request(1, "touch same"), request(2, "touch same"), request(3, "touch other")];
    let input = lines.map(|line| line.to_string() + "\n").concat();
    std::fs::write(project.at("requests.jsonl"), input).unwrap();
    let program = env!("CARGO_BIN_EXE_workden");
    let line = format!("'{program}' tool --jsonl --jobs 1 < requests.jsonl > answers.jsonl");
    let (code, shown) = at_terminal(&project, &["a", "n"], &line);
    assert_eq!(code, Some(0), "{shown}");
    let answers = project.read("answers.jsonl");
    let ok: Vec<bool> = answers.lines().map(|line| line.contains("\"ok\":true")).collect();
    assert_eq!(ok, [true, true, false], "{answers}\n{shown}");
    assert_eq!(count(shown.as_bytes()), 2, "{shown}");
}

#[test]
fn an_approval_can_be_for_all_commands_that_begin_alike() {
    let project = Project::with_secret();
    let request = |id: u32, command: &str| json!({ "id": id, "tool": "execute", "args": { "command": command } });
    let lines = [request(1, "pytest -q"), request(2, "pytest tests"), request(3, "tox")];
    let input = lines.map(|line| line.to_string() + "\n").concat();
    std::fs::write(project.at("requests.jsonl"), input).unwrap();
    let program = env!("CARGO_BIN_EXE_workden");
    let line = format!("'{program}' tool --jsonl --jobs 1 < requests.jsonl > answers.jsonl");
    let (code, shown) = at_terminal(&project, &["b", "n"], &line);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("every command that [b]egins with `pytest`, or "), "{shown}");
    let answers = project.read("answers.jsonl");
    let ok: Vec<bool> = answers.lines().map(|line| line.contains("\"ok\":true")).collect();
    assert_eq!(ok, [true, true, false], "{answers}\n{shown}");
    assert_eq!(count(shown.as_bytes()), 2, "{shown}");
}

#[test]
fn what_is_typed_before_a_question_is_there_is_no_answer_to_it() {
    let project = Project::with_secret();
    let request =
        |id: u32| json!({ "id": id, "tool": "write_file", "args": { "path": format!("{id}.md"), "content": "x" } });
    std::fs::write(project.at("requests.jsonl"), format!("{}\n{}\n", request(1), request(2))).unwrap();
    let program = env!("CARGO_BIN_EXE_workden");
    let line = format!("'{program}' tool --jsonl --jobs 1 < requests.jsonl > answers.jsonl");
    // An impatient user answers yes twice to the first question.
    let (code, shown) = at_terminal(&project, &["y\ny", "n"], &line);
    assert_eq!(code, Some(0), "{shown}");
    assert!(project.at("1.md").exists() && !project.at("2.md").exists(), "{shown}");
    assert_eq!(count(shown.as_bytes()), 2, "{shown}");
}

#[test]
fn the_configuration_in_use_cannot_be_changed_by_a_command() {
    let project = Project::new();
    let text = "extends = \"permissive\"\n";
    std::fs::write(project.at("workden.toml"), text).unwrap();
    // A script, so that the walls decide and not the rules.
    std::fs::write(project.at("grab.sh"), "echo '[approvals]' >> workden.toml\n").unwrap();
    let ran = project.tool("execute", &json!({"command": "sh grab.sh"}), &["--config", "workden.toml"]);
    assert!(ran.out.contains("Read-only file system"), "{}", ran.out);
    assert_eq!(project.read("workden.toml"), text);
}

#[test]
fn a_mode_that_is_not_a_word_is_named_with_its_line() {
    let project = Project::new();
    std::fs::write(project.at("workden.toml"), "[approvals]\nmode = true\n").unwrap();
    let ran = project.tool("ls", &json!({}), &["--config", "workden.toml"]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.starts_with("error: workden.toml: line 2, column 8: expected a string"), "{}", ran.err);
}

#[test]
fn a_person_who_starts_the_server_by_hand_is_told_what_it_is() {
    let project = Project::new();
    let line = format!("timeout 20 '{}' mcp --sandbox none < /dev/tty", env!("CARGO_BIN_EXE_workden"));
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .current_dir(project.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut shown = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    while !shown.contains("Ctrl-C ends") && std::io::BufRead::read_line(&mut output, &mut shown).unwrap() > 0 {}
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(shown.contains("workden mcp --print-config claude"), "{shown}");
}
