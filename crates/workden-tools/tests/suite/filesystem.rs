//! The tools of the filesystem profile.

use serde_json::json;
use workden_core::ErrorKind;
use workden_tools::{Profile, ToolsetOptions};

use crate::desk::both;

fn documents() -> ToolsetOptions {
    let mut options = ToolsetOptions::default();
    options.profile = Profile::Filesystem;
    options
}

#[tokio::test]
async fn there_are_seven_of_them() {
    for desk in both(&documents()) {
        let names: Vec<&str> = desk.tools.names().collect();
        let expected = ["read_file", "write_file", "list_files", "edit_file", "delete_file", "move_file", "copy_file"];
        assert_eq!(names, expected);
    }
}

#[tokio::test]
async fn they_answer_in_the_words_that_their_users_know() {
    for desk in both(&documents()) {
        let text = "héllo wörld\n";
        desk.says("write_file", json!({ "path": "in/a.md", "content": text }), "Written 12 characters to in/a.md")
            .await;
        let read = desk.call("read_file", json!({ "path": "in/a.md", "max_chars": 5, "offset": 1 })).await.unwrap();
        let expected =
            json!({ "content": "éllo ", "truncated": true, "total_chars": 12, "offset": 1, "chars_read": 5 });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&read.text).unwrap(), expected);
        assert_eq!(read.structured.unwrap().get("content"), None, "the text is not sent twice");
        let past = desk.call("read_file", json!({ "path": "in/a.md", "offset": 100 })).await.unwrap();
        let expected = json!({ "content": "", "truncated": false, "total_chars": 12, "offset": 100, "chars_read": 0 });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&past.text).unwrap(), expected);
        let edit = json!({ "path": "in/a.md", "old_text": "wörld", "new_text": "du" });
        desk.says("edit_file", edit, "Edited in/a.md: replaced 5 chars with 2 chars").await;
        let copy = json!({ "source": "in/a.md", "destination": "out/.b.md" });
        desk.says("copy_file", copy, "Copied in/a.md to out/.b.md").await;
        let moved = json!({ "source": "in/a.md", "destination": "/out/c.md" });
        desk.says("move_file", moved, "Moved in/a.md to /out/c.md").await;
        desk.says("list_files", json!({}), r#"["out/.b.md","out/c.md"]"#).await;
        desk.says("list_files", json!({ "path": "/out", "pattern": "c*" }), r#"["/out/c.md"]"#).await;
        desk.says("delete_file", json!({ "path": "out/.b.md" }), "Deleted out/.b.md").await;
        desk.says("list_files", json!({ "path": "." }), r#"["out/c.md"]"#).await;
    }
}

#[tokio::test]
async fn they_fail_in_the_words_that_their_users_know() {
    for desk in both(&documents()) {
        desk.call("write_file", json!({ "path": "d/a.md", "content": "x x\n" })).await.unwrap();
        desk.call("write_file", json!({ "path": "d/nul", "content": "a\u{0}b" })).await.unwrap();
        let pair = |source: &str, destination: &str| json!({ "source": source, "destination": destination });
        let one = |path: &str| json!({ "path": path });
        for (tool, arguments, kind, expected) in [
            ("read_file", one("no.md"), ErrorKind::NotFound, "File not found: no.md"),
            ("read_file", one("d"), ErrorKind::IsDirectory, "Not a file: d"),
            (
                "read_file",
                one("d/nul"),
                ErrorKind::NotText,
                "Cannot read 'd/nul': file appears to be binary or not UTF-8 encoded.\nThis tool only reads text \
                 files. For binary files, pass them as attachments.",
            ),
            ("delete_file", one("d"), ErrorKind::IsDirectory, "Cannot delete directory with delete_file: d"),
            ("delete_file", one("no.md"), ErrorKind::NotFound, "File not found: no.md"),
            ("move_file", pair("d", "e"), ErrorKind::IsDirectory, "Cannot move directory: d"),
            ("copy_file", pair("d", "e"), ErrorKind::IsDirectory, "Cannot copy directory: d"),
            ("move_file", pair("no.md", "e"), ErrorKind::NotFound, "Source file not found: no.md"),
            ("copy_file", pair("no.md", "e"), ErrorKind::NotFound, "Source file not found: no.md"),
            ("move_file", pair("d/a.md", "d/nul"), ErrorKind::AlreadyExists, "Destination already exists: d/nul"),
            ("copy_file", pair("d/a.md", "d/nul"), ErrorKind::AlreadyExists, "Destination already exists: d/nul"),
            (
                "edit_file",
                json!({ "path": "d/a.md", "old_text": "y", "new_text": "z" }),
                ErrorKind::NoMatch,
                "Cannot edit 'd/a.md': text not found in file.\nSearched for: 'y'",
            ),
            (
                "edit_file",
                json!({ "path": "d/a.md", "old_text": "x", "new_text": "z" }),
                ErrorKind::Ambiguous,
                "Cannot edit 'd/a.md': text found 2 times (must be unique).\nSearched for: 'x'",
            ),
        ] {
            desk.refuses(tool, arguments, kind, expected).await;
        }
    }
}
