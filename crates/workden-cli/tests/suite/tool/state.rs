//! `--state`: a document that is updated with every call.

use serde_json::{Value, json};

use crate::project::Project;

fn document(project: &Project) -> Value {
    serde_json::from_str(&project.read("state.json")).unwrap()
}

#[test]
fn every_change_is_in_the_file_before_its_answer() {
    let project = Project::with_secret();
    let mut talk = project.jsonl(&["--state", "state.json", "--yes"]);
    assert_eq!(talk.ask(json!({ "id": 1, "tool": "ls", "args": { "path": "/" } }))["ok"], true);
    assert!(!project.at("state.json").exists(), "a read must not create it");
    talk.ask(json!({ "id": 2, "tool": "write_file", "args": { "path": "a/b.md", "content": "one\n" } }));
    assert_eq!(document(&project)["files"]["/a/b.md"]["content"], "one\n");
    talk.ask(
        json!({ "id": 3, "tool": "edit_file", "args": { "path": "a/b.md", "old_string": "one", "new_string": "two" } }),
    );
    // Also when the process is killed.
    talk.child.kill().unwrap();
    assert_eq!(document(&project)["files"]["/a/b.md"]["content"], "two\n");
    let read = project.tool("read_file", &json!({ "path": "/a/b.md" }), &["--state", "state.json"]);
    assert_eq!(read.printed(), "     1\ttwo\n");
}

#[test]
fn many_changes_at_once_are_all_kept() {
    let project = Project::with_secret();
    let mut talk = project.jsonl(&["--state", "state.json", "--yes"]);
    for nth in 0..200 {
        let path = format!("{nth}.txt");
        talk.say(json!({ "id": nth, "tool": "write_file", "args": { "path": path, "content": "x" } }));
    }
    for _ in 0..200 {
        assert_eq!(talk.hear().unwrap()["ok"], true);
    }
    assert_eq!(talk.end(), Some(0));
    assert_eq!(document(&project)["files"].as_object().unwrap().len(), 200);
}

#[test]
fn what_another_process_wrote_is_not_overwritten() {
    let project = Project::with_secret();
    let write = |path: &str| json!({ "id": 1, "tool": "write_file", "args": { "path": path, "content": "x" } });
    let mut talk = project.jsonl(&["--state", "state.json", "--yes"]);
    assert_eq!(talk.ask(write("ours"))["ok"], true);
    let args = json!({ "path": "theirs", "content": "y" });
    assert_eq!(project.tool("write_file", &args, &["--state", "state.json", "--yes"]).code, Some(0));
    let refused = talk.ask(write("late"));
    assert!(refused["ok"] == false && refused["text"].as_str().unwrap().contains("another process"), "{refused}");
    let files = document(&project)["files"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(files, ["/ours", "/theirs"]);
}
