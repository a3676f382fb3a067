//! Every client calls every tool that a server lists, over pipes and over HTTP.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::clients::{
    Client, Era,
    inspector::{Connected, OneShot},
    python::Python,
    served::Served,
    text,
};

const CONSOLE: &[&str] = &["--yes", "--extra-tools", "delete_file,move_file,copy_file,list_files,multi_edit"];
const HASHLINE: &[&str] = &["--yes", "--edit-format", "hashline"];
const DOCUMENTS: &[&str] = &["--yes", "--profile", "filesystem"];

/// A client, and the tools that it has called.
struct Calls<'c> {
    client: &'c mut dyn Client,
    called: BTreeSet<String>,
}

impl Calls<'_> {
    /// Calls a tool, checks that its text contains `expected`, and returns its data.
    fn says(&mut self, tool: &str, arguments: Value, expected: &str) -> Value {
        self.called.insert(tool.to_owned());
        let result = self.client.call(tool, &arguments);
        assert!(result["isError"] != true && text(&result).contains(expected), "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Asserts that every tool was called.
    fn were_all(self) {
        let listed = self.client.tools();
        let described = |tool: &&Value| {
            tool["inputSchema"]["type"] == "object" && tool["description"].is_string() && tool["title"].is_string()
        };
        assert_eq!(listed.iter().filter(described).count(), listed.len(), "{listed:?}");
        let listed: BTreeSet<String> = listed.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(self.called, listed);
    }
}

/// Calls the tools of the console profile.
fn console(client: &mut dyn Client, served: &Served) {
    let mut den = Calls { client, called: BTreeSet::new() };
    den.says("ls", json!({}), "notes.md");
    den.says("write_file", json!({ "path": "src/a.txt", "content": "one\ntwö\n" }), "Wrote 2 lines");
    den.says("read_file", json!({ "path": "src/a.txt" }), "     2\ttwö");
    den.says("edit_file", json!({ "path": "src/a.txt", "old_string": "one", "new_string": "1" }), "src/a.txt");
    let edits = json!([{ "old_string": "1", "new_string": "eins" }, { "old_string": "twö", "new_string": "zwei" }]);
    den.says("multi_edit", json!({ "path": "src/a.txt", "edits": edits }), "src/a.txt");
    den.says("copy_file", json!({ "source": "src/a.txt", "destination": "src/b.txt" }), "src/b.txt");
    den.says("move_file", json!({ "source": "src/b.txt", "destination": "src/c.txt" }), "src/c.txt");
    den.says("list_files", json!({ "path": "src" }), "c.txt");
    den.says("glob", json!({ "pattern": "**/*.txt" }), "/workspace/src/c.txt");
    den.says("grep", json!({ "pattern": "zw.i", "output_mode": "content" }), "/workspace/src/a.txt:2: zwei");
    den.says("delete_file", json!({ "path": "src/c.txt" }), "src/c.txt");
    den.says("execute", json!({ "command": "cat src/*.txt; whoami; exit 3" }), "(exit code 3):\neins\nzwei\nagent\n");
    let job = den.says("run_in_background", json!({ "command": "echo started; exec sleep 600" }), "");
    let id = job["shell_id"].as_str().unwrap();
    den.says("list_shells", json!({}), id);
    den.says("read_output", json!({ "shell_id": id, "wait": 20 }), "started");
    let killed = den.says("kill_shell", json!({ "shell_id": id }), id);
    assert_eq!(killed["killed"], true);
    den.were_all();
    assert_eq!(served.read("src/a.txt"), "eins\nzwei\n");
    assert!(!served.at("src/b.txt").exists() && !served.at("src/c.txt").exists());
}

/// Edits with the line numbers and hashes that a read returned.
fn hashline(client: &mut dyn Client, served: &Served) {
    let read = client.call("read_file", &json!({ "path": "notes.md" }));
    let hash = text(&read).split_once(':').unwrap().1.split_once('|').unwrap().0.to_owned();
    let edit = json!({ "path": "notes.md", "start_line": 1, "start_hash": hash, "new_content": "forget" });
    let edited = client.call("hashline_edit", &edit);
    assert!(edited["isError"] != true, "{edited}");
    assert_eq!(served.read("notes.md"), "forget\n");
    assert!(!client.tools().iter().any(|tool| tool["name"] == "edit_file"));
}

/// Calls the seven tools for documents.
fn documents(client: &mut dyn Client, served: &Served) {
    let mut den = Calls { client, called: BTreeSet::new() };
    den.says("write_file", json!({ "path": "in/a.md", "content": "wörld\n" }), "Written 6 characters to in/a.md");
    den.says("read_file", json!({ "path": "in/a.md", "max_chars": 2 }), r#""content":"wö","truncated":true"#);
    let edit = json!({ "path": "in/a.md", "old_text": "wörld", "new_text": "du" });
    den.says("edit_file", edit, "Edited in/a.md");
    den.says("copy_file", json!({ "source": "in/a.md", "destination": "b.md" }), "Copied in/a.md to b.md");
    den.says("move_file", json!({ "source": "b.md", "destination": "c.md" }), "Moved b.md to c.md");
    den.says("list_files", json!({ "pattern": "*.md" }), "c.md");
    den.says("delete_file", json!({ "path": "in/a.md" }), "Deleted in/a.md");
    den.were_all();
    assert_eq!(served.read("c.md"), "du\n");
}

#[test]
fn the_python_client_calls_every_tool_of_the_console_over_pipes() {
    for era in [Era::Handshake, Era::Modern] {
        let served = Served::over_pipes(CONSOLE);
        let mut client = Python::connect(&served, era);
        console(&mut client, &served);
        client.end();
    }
}

#[test]
fn the_python_client_calls_every_tool_of_the_console_over_http() {
    for era in [Era::Handshake, Era::Modern] {
        let served = Served::over_http(CONSOLE);
        let mut client = Python::connect(&served, era);
        console(&mut client, &served);
        client.end();
    }
}

#[test]
fn the_python_client_edits_by_hashes_over_pipes_and_http() {
    for served in Served::both(HASHLINE) {
        let mut client = Python::connect(&served, Era::Modern);
        hashline(&mut client, &served);
        client.end();
    }
}

#[test]
fn the_python_client_calls_every_tool_for_documents_over_pipes_and_http() {
    for served in Served::both(DOCUMENTS) {
        let mut client = Python::connect(&served, Era::Handshake);
        documents(&mut client, &served);
        client.end();
    }
}

#[test]
fn the_inspector_calls_every_tool_of_the_console_over_pipes() {
    let served = Served::over_pipes(CONSOLE);
    console(&mut Connected::to(&served, Era::Handshake), &served);
}

/// Few tools: the inspector starts node for each call, and the test above has called all.
#[test]
fn the_inspector_calls_tools_of_the_console_over_http() {
    let served = Served::over_http(CONSOLE);
    let mut client = OneShot::of(&served, Era::Modern);
    let mut calls = Calls { client: &mut client, called: BTreeSet::new() };
    calls.says("write_file", json!({ "path": "src/a.txt", "content": "one\ntwö\n" }), "Wrote 2 lines");
    calls.says("read_file", json!({ "path": "src/a.txt" }), "     2\ttwö");
    calls.says("execute", json!({ "command": "cat src/*.txt; exit 3" }), "(exit code 3):\none\ntwö\n");
    assert!(client.tools().len() > 3);
}

#[test]
fn the_inspector_calls_every_tool_for_documents_over_pipes() {
    let served = Served::over_pipes(DOCUMENTS);
    documents(&mut OneShot::of(&served, Era::Handshake), &served);
}
